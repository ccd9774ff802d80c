"""A hand-written server of the handshake era that asks its client in the middle of a call.

Only the standard library. Its tools do one thing each, told by their arguments; what it was told
itself it tells when asked.
"""

import json
import os
import sys

OPTIONS = dict(part.split("=", 1) for part in sys.argv[1:])
WAITING = {}
TOLD = {"client": None, "roots": None, "levels": [], "followed": [], "cancelled": []}


def send(**message):
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def notify(method, **params):
    send(method=method, params=params)


def answer(request_id, value):
    send(id=request_id, result={"content": [{"type": "text", "text": json.dumps(value)}]})


def ask(request_id, arguments):
    """Ask what the arguments say, and answer with what comes back."""
    question = f"q{request_id}"
    WAITING[question] = request_id
    send(id=question, method=arguments["method"], params=arguments.get("params", {}))


def ask_and_withdraw(request_id, arguments):
    """Ask, take the question back, and answer."""
    send(id="w", method="elicitation/create", params={"message": "?"})
    notify("notifications/cancelled", requestId="w")
    answer(request_id, "withdrawn")


def ask_often(request_id, arguments):
    """Ask many times, and answer with how often there was an answer to it."""
    WAITING["left"] = arguments["times"]
    WAITING["good"] = 0
    WAITING["often"] = request_id
    for number in range(arguments["times"]):
        send(id=f"often{number}", method="roots/list")


def wait(request_id, arguments):
    """Never answer."""


def say(request_id, arguments):
    """Send notifications as told, and answer."""
    for method, params in arguments["notifications"]:
        notify(method, **params)
    answer(request_id, "said")


def told(request_id, arguments):
    answer(request_id, TOLD)


def elsewhere(request_id, arguments):
    """Refuse until something was done out of band."""
    one = {"mode": "url", "elicitationId": "e1", "url": "https://x/", "message": "Go."}
    send(
        id=request_id,
        error={"code": -32042, "message": "elsewhere first", "data": {"elicitations": [one]}},
    )


TOOLS = {
    "ask": ask,
    "ask_and_withdraw": ask_and_withdraw,
    "ask_often": ask_often,
    "elsewhere": elsewhere,
    "say": say,
    "told": told,
    "wait": wait,
}


def initialize(request_id, params):
    TOLD["client"] = params["capabilities"]
    capabilities = {
        "tools": {"listChanged": True},
        "logging": {},
        "completions": {},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
    }
    for absent in filter(None, OPTIONS.get("without", "").split(",")):
        del capabilities[absent]
    send(
        id=request_id,
        result={
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "serverInfo": {"name": "curious", "version": "1"},
        },
    )


def resources(params):
    page = int(params.get("cursor", 0))
    if OPTIONS.get("pages") == "loop":
        return {"resources": [item(page)], "nextCursor": str((page + 1) % 2)}
    more = {"nextCursor": str(page + 1)} if page < 2 else {}
    return {"resources": [item(page), {"uri": 7}], "odd": None, **more}


def item(number):
    return {"uri": f"test://{number}", "name": f"n{number}", "size": None, "custom": [number]}


RESULTS = {
    "tools/list": lambda _: {
        "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in sorted(TOOLS)]
    },
    "resources/list": resources,
    "resources/read": lambda params: {
        "contents": [{"uri": params["uri"], "text": "x", "extra": None}],
        "meta": params.get("_meta"),
    },
    "prompts/list": lambda _: {"prompts": [{"name": "greet"}]},
    "prompts/get": lambda params: {"messages": [], "got": params},
    "completion/complete": lambda params: {
        "completion": {"values": [params["argument"]["value"]]}
    },
}


def misbehave(method, request_id):
    """Refuse, ignore or die of a request as the options say; False: they say nothing of it."""
    options = [name for name, methods in OPTIONS.items() if method in methods.split(",")]
    if "dies_of" in options:
        os._exit(1)
    if "refuses" in options:
        send(id=request_id, error={"code": -32000, "message": f"no {method} here"})
    return bool(options)


def handle(method, request_id, params):
    if misbehave(method, request_id):
        return
    if method == "initialize":
        initialize(request_id, params)
    elif method == "tools/call":
        TOOLS[params["name"]](request_id, params.get("arguments", {}))
    elif method == "logging/setLevel":
        TOLD["levels"].append(params["level"])
        send(id=request_id, result={})
    elif method in ("resources/subscribe", "resources/unsubscribe"):
        TOLD["followed"].append([method.split("/")[1], params["uri"]])
        send(id=request_id, result={})
    elif method in RESULTS:
        send(id=request_id, result=RESULTS[method](params))
    else:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})


def take_notification(method, params):
    if method == "notifications/cancelled":
        TOLD["cancelled"].append(params["requestId"])
    elif method == "notifications/initialized" and "roots" in OPTIONS:
        send(id="roots", method="roots/list")


def take_answer(message):
    question = message["id"]
    outcome = message.get("result", message.get("error"))
    if question == "roots":
        TOLD["roots"] = outcome
    elif question in WAITING:
        answer(WAITING.pop(question), outcome)
    elif question.startswith("often"):
        WAITING["left"] -= 1
        WAITING["good"] += "result" in message
        if not WAITING["left"]:
            answer(WAITING["often"], WAITING["good"])


def main():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" not in message:
            take_answer(message)
        elif "id" in message:
            handle(message["method"], message["id"], message.get("params", {}))
        else:
            take_notification(message["method"], message.get("params", {}))


if __name__ == "__main__":
    main()
