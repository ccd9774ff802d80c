"""A server of records, read and written, that notes each call of a tool in a file.

    records.py LEDGER [HOLD]

Each call appends a line of JSON to LEDGER: `{"tool", "arguments"}`. Owner `o3` owns the record
`rec-3003`, and so on. A record shows how often anything was written. While the file HOLD exists,
reads are noted but not answered.

Only the standard library, so that it starts in no time. Speaks 2026-07-28.
"""

import json
import os
import sys
import time

VERSION = "2026-07-28"
PARAMETERS = {"find_records": "owner", "read_record": "record_id", "write_record": "record_id"}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def describe(name, parameter):
    return {
        "name": name,
        "description": name.replace("_", " "),
        "inputSchema": {
            "type": "object",
            "properties": {parameter: {"type": "string"}},
            "required": [parameter],
        },
        "annotations": {"readOnlyHint": name != "write_record", "openWorldHint": False},
    }


def main():
    written = 0
    with open(sys.argv[1], "a", buffering=1) as ledger:
        for line in sys.stdin:
            message = json.loads(line)
            if "id" not in message:
                continue
            method, params = message["method"], message.get("params", {})
            if method == "server/discover":
                result = {"supportedVersions": [VERSION], "capabilities": {"tools": {}}}
            elif method == "tools/list":
                result = {"tools": [describe(*one) for one in PARAMETERS.items()]}
            elif method == "tools/call":
                name, arguments = params["name"], params["arguments"]
                ledger.write(json.dumps({"tool": name, "arguments": arguments}) + "\n")
                written += name == "write_record"
                while name == "read_record" and sys.argv[2:] and os.path.exists(sys.argv[2]):
                    time.sleep(0.02)
                if name == "find_records":
                    number = int(arguments["owner"].removeprefix("o"))
                    found = {"records": [{"record_id": f"rec-{number}00{number}"}]}
                else:
                    found = {"title": arguments["record_id"], "written": written}
                text = {"type": "text", "text": json.dumps(found)}
                result = {"content": [text], "structuredContent": found}
            else:
                send(id=message["id"], error={"code": -32601, "message": "Method not found"})
                continue
            whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
            send(id=message["id"], result=whole)


if __name__ == "__main__":
    main()
