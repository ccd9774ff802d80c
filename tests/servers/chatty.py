"""A server of the handshake era that prints rubbish, reports progress, and waits until cancelled.

Only the standard library, so that it starts in a few hundredths of a second.
"""

import json
import os
import sys
from pathlib import Path

TOOLS = {
    "count": ("Count aloud, reporting progress at each number.", {"to": {"type": "integer"}}),
    "rubbish": ("Print what is no protocol, on both outputs.", {}),
    "wait": (
        "Wait until cancelled; the marker file tells what became of the call.",
        {"marker": {"type": "string"}},
    ),
}
waiting = {}


def send(**message):
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def answer(request_id, text):
    content = [{"type": "text", "text": text}]
    send(id=request_id, result={"content": content, "isError": False})


def call(request_id, name, given, meta):
    if name == "count":
        for number in range(1, given["to"] + 1):
            if "progressToken" in meta:
                report = {"progress": number, "total": given["to"], "message": f"at {number}"}
                params = {"progressToken": meta["progressToken"], **report}
                send(method="notifications/progress", params=params)
        answer(request_id, f"counted to {given['to']}")
    elif name == "rubbish":
        os.write(1, b"this is not JSON\n\xff\xfe\n")
        sys.stderr.write("nor is this\n")
        sys.stderr.flush()
        answer(request_id, "printed")
    else:
        waiting[request_id] = Path(given["marker"])
        waiting[request_id].write_text("waiting")


def handle(message):
    request_id, method = message.get("id"), message.get("method")
    params = message.get("params", {})
    if method == "notifications/cancelled" and params["requestId"] in waiting:
        waiting.pop(params["requestId"]).write_text("cancelled")
    elif method == "initialize":
        able, who = {"tools": {}}, {"name": "chatty", "version": "1"}
        version = params["protocolVersion"]
        send(
            id=request_id,
            result={"protocolVersion": version, "capabilities": able, "serverInfo": who},
        )
    elif method == "tools/list":
        tools = [
            {
                "name": name,
                "description": description,
                "inputSchema": {
                    "type": "object",
                    "properties": fields,
                    "required": list(fields),
                },
            }
            for name, (description, fields) in TOOLS.items()
        ]
        send(id=request_id, result={"tools": tools})
    elif method == "tools/call":
        call(request_id, params["name"], params["arguments"], params.get("_meta", {}))
    elif request_id is not None:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    handle(json.loads(line))
