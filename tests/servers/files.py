"""A server that lists, reads and moves files, of which there are none.

Only the standard library, so that it starts in no time. Speaks 2026-07-28.
"""

import json
import sys

VERSION = "2026-07-28"
TOOLS = {
    "list_directory": ("List the files and folders of a folder", ("path",)),
    "read_text_file": ("Read the complete contents of a text file", ("path",)),
    "move_file": ("Move or rename a file", ("source", "destination")),
    "convert_currency": ("Convert an amount of money to another currency", ("amount",)),
    "book_room": ("Book a meeting room", ("room",)),
}


def describe(name):
    description, parameters = TOOLS[name]
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {parameter: {"type": "string"} for parameter in parameters},
            "required": list(parameters),
        },
        "annotations": {
            "readOnlyHint": name != "move_file",
            "destructiveHint": name == "move_file",
            "openWorldHint": False,
        },
    }


def answer(method, params):
    if method == "server/discover":
        return {"supportedVersions": [VERSION], "capabilities": {"tools": {}}}
    if method == "tools/list":
        return {"tools": [describe(name) for name in TOOLS]}
    return {"content": [{"type": "text", "text": f"{params['name']} is done"}]}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params", {}))
            sent = {"jsonrpc": "2.0", "id": message["id"]}
            sent["result"] = {"resultType": "complete", **result}
            sys.stdout.write(json.dumps(sent) + "\n")
            sys.stdout.flush()


main()
