"""A hand-written server of 2026-07-28 that changes its lists and shows what it was sent.

Only the standard library, so that it starts in no time.
"""

import json
import sys

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
ID = META + "subscriptionId"
CHANGES = {"listChanged": True}
ABLE = {"tools": CHANGES, "prompts": CHANGES, "resources": CHANGES, "logging": {}}
LISTS = {
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
}
NAMES = ["echo", "hang", "grow", "rearrange", "meta", "complain"]
listening = {}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request_id, **result):
    whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    send(id=request_id, result=whole)


def listen(request_id, wanted):
    listening[request_id] = wanted
    params = {"notifications": wanted, "_meta": {ID: request_id}}
    send(method="notifications/subscriptions/acknowledged", params=params)


def changed(kind):
    for request_id, wanted in listening.items():
        if wanted.get(f"{kind}ListChanged"):
            method = f"notifications/{kind}/list_changed"
            send(method=method, params={"_meta": {ID: request_id}})


def call(request_id, params):
    name, said = params["name"], "ok"
    if name == "hang":
        return
    if name == "echo":
        said = params["arguments"].get("text", "")
    elif name == "meta":
        said = json.dumps(params["_meta"])
    elif name == "grow":
        NAMES.append("grown")
        changed("tools")
    elif name == "rearrange":
        changed("resources")
        changed("prompts")
    elif name == "complain":
        for level, data in (("info", "fine"), ("error", "not fine")):
            send(method="notifications/message", params={"level": level, "data": data})
    answer(request_id, content=[{"type": "text", "text": said}], isError=False)


def handle(message):
    request_id, method = message.get("id"), message.get("method")
    params = message.get("params", {})
    if request_id is None:
        return
    if method == "server/discover":
        answer(request_id, supportedVersions=[VERSION], capabilities=ABLE)
    elif method == "tools/list":
        schema = {"type": "object"}
        tools = [{"name": name, "description": name, "inputSchema": schema} for name in NAMES]
        answer(request_id, tools=tools)
    elif method in LISTS:
        answer(request_id, **LISTS[method])
    elif method == "tools/call":
        call(request_id, params)
    elif method == "subscriptions/listen":
        listen(request_id, params["notifications"])
    else:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    handle(json.loads(line))
