"""A hand-written server of 2026-07-28 whose results and errors contain what SECRETS says.

Only the standard library, so that it starts in no time.
"""

import json
import os
import sys

VERSION = "2026-07-28"
SECRETS = json.loads(os.environ["SECRETS"])
TEXT = {"type": "string"}
READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {
        "name": name,
        "description": name.replace("_", " "),
        "inputSchema": schema,
        "annotations": READ_ONLY,
    }


TOOLS = [
    tool("find_records", owner=TEXT),
    tool("read_record", record_id=TEXT),
    tool("fail", reason=TEXT),
    tool("refuse", reason=TEXT),
]


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request_id, **result):
    whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    send(id=request_id, result=whole)


def call(request_id, params):
    name, arguments = params["name"], params["arguments"]
    if name == "refuse":
        error = {"code": -32000, "message": SECRETS["error"], "data": SECRETS["error"]}
        send(id=request_id, error=error)
        return
    value = {"fields": {SECRETS["key"]: SECRETS["result"]}, "number": SECRETS["number"]}
    if name == "find_records":
        value["records"] = [
            {"record_id": one, "title": SECRETS["result"]} for one in SECRETS["ids"]
        ]
    text = f"{SECRETS['error']} {arguments}" if name == "fail" else json.dumps(value)
    answer(request_id, content=[{"type": "text", "text": text}], isError=name == "fail")


def handle(message):
    request_id, method = message.get("id"), message.get("method")
    if request_id is None:
        return
    if method == "server/discover":
        answer(request_id, supportedVersions=[VERSION], capabilities={"tools": {}})
    elif method == "tools/list":
        answer(request_id, tools=TOOLS)
    elif method == "tools/call":
        call(request_id, message["params"])
    else:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    handle(json.loads(line))
