"""A hand-written server that asks its user: in the middle of a call, or by saying what it needs.

`asks.py handshake` speaks 2025-11-25, `asks.py stateless` 2026-07-28. Each has a tool, a prompt
and a resource that need a name. Only the standard library, so that it starts in no time.
"""

import json
import sys

MODERN = sys.argv[1] == "stateless"
VERSION = "2026-07-28" if MODERN else "2025-11-25"
ASKED = {
    "message": "Whose?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
INFO = {"name": "asks", "version": "1"}
ABLE = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}}
LISTS = {
    "tools/list": {
        "tools": [{"name": "greet", "inputSchema": {"type": "object"}, "description": "Greet."}]
    },
    "prompts/list": {"prompts": [{"name": "greeting"}]},
    "resources/list": {"resources": [{"uri": "asks:///name", "name": "name"}]},
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": "asks:///{n}", "name": "n"}]
    },
}
waiting = {}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request_id, result):
    if MODERN:
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    send(id=request_id, result=result)


def finished(method, name):
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"Hello {name}"}], "unknown": {"kept": None}}
    if method == "prompts/get":
        content = {"type": "text", "text": f"Hello {name}"}
        return {"messages": [{"role": "user", "content": content}]}
    return {"contents": [{"uri": "asks:///name", "text": f"Hello {name}"}]}


def need(request_id, method, params):
    if not MODERN:
        waiting[f"q{request_id}"] = request_id, method
        send(id=f"q{request_id}", method="elicitation/create", params=ASKED)
    elif "inputResponses" in params:
        assert params["requestState"] == "secret"
        answer(request_id, finished(method, params["inputResponses"]["who"]["content"]["name"]))
    else:
        asked = {"who": {"method": "elicitation/create", "params": ASKED}}
        result = {"resultType": "input_required", "inputRequests": asked, "requestState": "secret"}
        send(id=request_id, result=result)


def handle(message):
    request_id, method = message.get("id"), message.get("method")
    params = message.get("params", {})
    if method is None:
        asked_by, asking = waiting.pop(request_id)
        if "error" in message:
            send(id=asked_by, error=message["error"])
        else:
            answer(asked_by, finished(asking, message["result"]["content"]["name"]))
    elif request_id is None:
        return
    elif method == "server/discover" and MODERN:
        answer(request_id, {"supportedVersions": [VERSION], "capabilities": ABLE})
    elif method == "initialize" and not MODERN:
        answer(request_id, {"protocolVersion": VERSION, "capabilities": ABLE, "serverInfo": INFO})
    elif method in LISTS:
        answer(request_id, LISTS[method])
    elif method in ("tools/call", "prompts/get", "resources/read"):
        need(request_id, method, params)
    else:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    handle(json.loads(line))
