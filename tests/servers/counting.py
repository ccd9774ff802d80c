"""A server that counts its calls in a file, so that a call made twice shows.

    counting.py LEDGER

Each call appends lines of JSON to LEDGER: `{"tool", "name", "what"}`, where `what` is `begun` as
soon as the call arrives; `counted`, its effect, half-way through its delay and safe on the disk
before the call goes on; or `cancelled` if it was cancelled before that. Calls overlap.

A call that names a `gate`, the path of a file, is held before its delay until that file is there.

Only the standard library, so that it starts in no time. Speaks 2026-07-28.
"""

import json
import os
import sys
import threading

VERSION = "2026-07-28"
ABLE = {"tools": {}}
LEDGER = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "delay_ms": {"type": "number", "minimum": 0},
        "gate": {"type": "string"},
        "after": {},
    },
    "required": ["name"],
}
ANNOTATIONS = {
    "count": {"readOnlyHint": False, "destructiveHint": False},
    "count_once": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
    "look": {"readOnlyHint": True},
    "fail": {"readOnlyHint": True},
    "die": {"readOnlyHint": False, "destructiveHint": False},
}
DESCRIPTIONS = {
    "count": "Count a name: each call counts it once more.",
    "count_once": "Set the count of a name, as often as you like.",
    "look": "Look at a name, without changing anything.",
    "fail": "Count a name, then report a failure.",
    "die": "Count a name, then end the server without an answer.",
}
LOOKS_S = 0.01
output = threading.Lock()
cancelled = {}


def send(**message):
    line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    with output:
        sys.stdout.write(line)
        sys.stdout.flush()


def answer(request_id, **result):
    whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    send(id=request_id, result=whole)


def note(tool, name, what, *, safe=False):
    line = json.dumps({"tool": tool, "name": name, "what": what, "pid": os.getpid()}) + "\n"
    os.write(LEDGER, line.encode())
    if safe:
        os.fsync(LEDGER)


def tools():
    return [
        {"name": name, "description": DESCRIPTIONS[name], "inputSchema": SCHEMA}
        | {"annotations": annotations}
        for name, annotations in ANNOTATIONS.items()
    ]


def held(gate, stop):
    """Wait for a gate to open; say whether the call was cancelled first."""
    while gate and not os.path.exists(gate):
        if stop.wait(LOOKS_S):
            return True
    return False


def call(request_id, params, stop):
    tool, arguments = params["name"], params.get("arguments", {})
    name, half_s = arguments["name"], arguments.get("delay_ms", 0) / 2000
    if held(arguments.get("gate"), stop) or stop.wait(half_s):
        note(tool, name, "cancelled")
        return
    note(tool, name, "counted", safe=True)
    if tool == "die":
        os._exit(1)
    if stop.wait(half_s):
        return
    cancelled.pop(request_id, None)
    said = {"name": name, "length": len(name)}
    content = [{"type": "text", "text": json.dumps(said)}]
    answer(request_id, content=content, structuredContent=said, isError=tool == "fail")


def handle(message):
    request_id, method = message.get("id"), message.get("method")
    params = message.get("params", {})
    if method == "notifications/cancelled":
        cancelled.pop(params.get("requestId"), threading.Event()).set()
    if request_id is None:
        return
    if method == "server/discover":
        answer(request_id, supportedVersions=[VERSION], capabilities=ABLE)
    elif method == "tools/list":
        answer(request_id, tools=tools())
    elif method == "tools/call":
        stop = cancelled[request_id] = threading.Event()
        note(params["name"], params.get("arguments", {}).get("name"), "begun")
        threading.Thread(target=call, args=(request_id, params, stop), daemon=True).start()
    else:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    handle(json.loads(line))
