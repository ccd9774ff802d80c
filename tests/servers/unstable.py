"""A server that joins a set into a default, so that its order is another at each start.

Only the standard library, so that it starts in a few hundredths of a second.
"""

import json
import sys

FIELDS = {"summary", "status", "assignee", "labels", "created", "updated", "priority", "reporter"}
DEFAULT = ",".join(FIELDS)
TOOL = {
    "name": "search_issues",
    "description": "Search issues.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "jql": {"title": "Jql", "type": "string"},
            "fields": {
                "default": DEFAULT,
                "description": "Which fields.",
                "title": "Fields",
                "type": "string",
            },
        },
        "required": ["jql"],
    },
}


def answer(method, params):
    if method == "initialize":
        able, who = {"tools": {}}, {"name": "unstable", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": able, "serverInfo": who}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        given = params["arguments"]
        fields = given.get("fields", DEFAULT)
        return {"content": [{"type": "text", "text": f"{given['jql']}: {len(fields.split(','))}"}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        error = {"code": -32601, "message": "Method not found"}
        said = {"error": error} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}) + "\n")
        sys.stdout.flush()
