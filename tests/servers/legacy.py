"""A hand-written server of the handshake era that does, on request, all that a server must not.

Only the standard library, so that it starts in a few hundredths of a second.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse

OPTIONS = dict(part.split("=", 1) for part in sys.argv[1:])
CANCELLED, META, METHODS = [], {}, []


def write_all(raw):
    view = memoryview(raw)
    while view:
        view = view[os.write(1, view) :]


def send(**message):
    write_all(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def answer(request_id, text, **more):
    send(id=request_id, result={"content": [{"type": "text", "text": text}], **more})


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def list_tools(cursor):
    shape = OPTIONS.get("tools", "plain")
    page = int(cursor or 0)
    if shape == "loop":
        return {"tools": [tool(f"t{page}")], "nextCursor": str((page + 1) % 3)}
    if shape == "endless":
        return {"tools": [tool(f"t{page}")], "nextCursor": str(page + 1)}
    if shape == "pages":
        return {"tools": [tool(f"t{page}")], **({"nextCursor": str(page + 1)} if page < 4 else {})}
    if shape == "twice":
        return {"tools": [tool("a", description="first"), tool("a"), tool("b")]}
    if shape == "broken":
        return {"tools": [tool("good"), {"name": "bad", "inputSchema": 7}, 7, {"inputSchema": {}}]}
    if shape == "betraying":
        secret = os.environ["ACME_TOKEN"]
        return {"tools": [tool("echo", title=secret, description=f"Signs in with {secret}.")]}
    return {"tools": [tool(name) for name in sorted(TOOLS)]}


def echo(request_id, arguments):
    answer(request_id, arguments["text"])


def hang(request_id, arguments):
    """Never answer."""


def cancelled(request_id, arguments):
    answer(request_id, json.dumps(CANCELLED))


def quit_now(request_id, arguments):
    sys.stderr.write("about to give up\n")
    sys.stderr.flush()
    os._exit(arguments.get("code", 3))


def orphan_and_quit(request_id, arguments):
    """Leave a child behind that holds the pipes."""
    subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
    os._exit(4)


def answer_and_quit(request_id, arguments):
    answer(request_id, "last answer")
    os._exit(0)


def segfault(request_id, arguments):
    os.kill(os.getpid(), signal.SIGSEGV)


def close_stdin(request_id, arguments):
    os.close(0)
    time.sleep(600)


def close_stdout(request_id, arguments):
    os.close(1)


def rubbish(request_id, arguments):
    write_all(b'a debug print\n\n{\'python\': \'dict\'}\n{"level": "info", "id": 1}\n\xff\xfe\n')
    answer(request_id, "after the rubbish")


def not_utf8(request_id, arguments):
    head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request_id
    write_all(head + b'caf\xe9"}]}}\n')


def not_json(request_id, arguments):
    write_all(b'{"jsonrpc":"2.0","id":%d,"result":{"x":caf\xe9}}\n' % request_id)


def not_json_id_last(request_id, arguments):
    write_all(b'{"result":{"x":caf\xe9},"jsonrpc":"2.0","id":%d}\n' % request_id)


def half_json(request_id, arguments):
    write_all(b'{"jsonrpc":"2.0","result":{"content":[\n')


def huge(request_id, arguments):
    head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request_id
    if arguments.get("id_last"):
        head = b'{"result":{"content":[{"type":"text","text":"'
    tail = (
        b'"}]}}' if not arguments.get("id_last") else b'"}]},"jsonrpc":"2.0","id":%d}' % request_id
    )
    write_all(head + b"x" * arguments["size"] + tail + b"\n")


def endless(request_id, arguments):
    while True:
        write_all(b"x" * 65_536)


def flood(request_id, arguments):
    line = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
    for _ in range(arguments["count"]):
        write_all(line)
    answer(request_id, "after the flood")


def ask_back(request_id, arguments):
    """Send requests of its own, with ids that are also ours."""
    for number in range(arguments["count"]):
        send(id=number, method="ping")
    answer(request_id, "after asking")


def odd(request_id, arguments):
    send(id=request_id, result={"content": [{"type": "hologram", "n": None}], "extra": [1]})


def extra(request_id, arguments):
    block = {"type": "text", "text": "x", "custom": {"a": None}}
    send(id=request_id, result={"content": [block], "structuredContent": {"a": None}, "z": 1})


def not_an_object(request_id, arguments):
    send(id=request_id, result=[1, 2])


def refuse(request_id, arguments):
    send(id=request_id, error={"code": -32050, "message": "no", "data": {"why": "because"}})


ENCODINGS = {
    "raw": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "basic": lambda text: base64.b64encode(b"user:" + text.encode()).decode(),
    "url": lambda text: urllib.parse.quote(text, safe=""),
    "json": json.dumps,
    "hex": lambda text: text.encode().hex(),
}


def betray(request_id, arguments):
    """Repeat the value of a variable: in an error, a result, or a message to the log."""
    shown = ENCODINGS[arguments.get("encoding", "raw")](os.environ[arguments["variable"]])
    text = f"bad credentials <{shown}>"
    if arguments.get("by") == "result":
        answer(request_id, text, isError=True)
    elif arguments.get("by") == "log":
        send(method="notifications/message", params={"level": "error", "data": {"why": text}})
        answer(request_id, "logged")
    elif arguments.get("by") == "stdout":
        write_all(text.encode() + b"\n")
        answer(request_id, "printed")
    else:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
        data = {"sent": [text], shown: 1}
        send(id=request_id, error={"code": -32050, "message": text, "data": data})


def refuse_namelessly(request_id, arguments):
    send(id=None, error={"code": -32700, "message": "what?"})


def meta(request_id, arguments):
    answer(request_id, json.dumps(META))


def methods(request_id, arguments):
    answer(request_id, json.dumps(METHODS))


def verbatim(request_id, arguments):
    send(id=request_id, result=arguments["result"])


def string_id(request_id, arguments):
    answer(str(request_id), "ok")


def needs_input(request_id, arguments):
    send(id=request_id, result={"resultType": "input_required", "inputRequests": {}})


def progress(request_id, arguments):
    for step in (1, 2):
        params = {"progressToken": arguments["token"], "progress": step, "total": 2}
        send(method="notifications/progress", params=params)
    answer(request_id, "done")


def complain(request_id, arguments):
    for number in range(arguments["lines"]):
        sys.stderr.write(arguments["text"] + str(number) + "\n")
    sys.stderr.flush()
    answer(request_id, "complained")


def stop_reading(request_id, arguments):
    answer(request_id, "deaf from now on")
    time.sleep(600)


def read_later(request_id, arguments):
    """Read nothing until somebody writes to a named pipe."""
    answer(request_id, "later")
    with open(arguments["fifo"]) as fifo:
        fifo.read()


def about(request_id, arguments):
    answer(
        request_id, json.dumps({"pid": os.getpid(), "env": dict(os.environ), "cwd": os.getcwd()})
    )


def stubborn_family(request_id, arguments):
    """Ignore SIGTERM and leave a grandchild in a session of its own that ignores it too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(600)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    grandchild = int(child.stdout.readline())
    answer(request_id, json.dumps([os.getpid(), grandchild]))
    if arguments.get("deaf", True):
        time.sleep(600)


TOOLS = {
    "about": about,
    "answer_and_quit": answer_and_quit,
    "betray": betray,
    "ask_back": ask_back,
    "cancelled": cancelled,
    "close_stdin": close_stdin,
    "close_stdout": close_stdout,
    "complain": complain,
    "echo": echo,
    "endless": endless,
    "extra": extra,
    "flood": flood,
    "half_json": half_json,
    "hang": hang,
    "huge": huge,
    "meta": meta,
    "methods": methods,
    "needs_input": needs_input,
    "not_an_object": not_an_object,
    "not_json": not_json,
    "not_json_id_last": not_json_id_last,
    "not_utf8": not_utf8,
    "odd": odd,
    "orphan_and_quit": orphan_and_quit,
    "progress": progress,
    "quit": quit_now,
    "refuse": refuse,
    "read_later": read_later,
    "refuse_namelessly": refuse_namelessly,
    "rubbish": rubbish,
    "segfault": segfault,
    "stop_reading": stop_reading,
    "string_id": string_id,
    "stubborn_family": stubborn_family,
    "verbatim": verbatim,
}


def refuse_version(request_id, version):
    """Refuse a version newer than the newest it knows, instead of offering that one."""
    newest, _, how = OPTIONS["newest"].partition(":")
    with open(OPTIONS["log"], "a") as log:
        log.write(version + "\n")
    if version <= newest:
        return False
    if how == "exit" or (how == "once" and METHODS.count("initialize") > 1):
        sys.stderr.write(f"unsupported protocol version {version}\n" if how == "exit" else "")
        sys.stderr.flush()
        os._exit(1)
    data = {"supported": ["2024-11-05", newest]} if how == "error" else None
    send(id=request_id, error={"code": -32602, "message": "bad handshake", "data": data})
    return True


def initialize(request_id, params):
    if OPTIONS.get("initialize") == "refuse":
        send(id=request_id, error={"code": -32000, "message": "no licence"})
        return
    if OPTIONS.get("initialize") == "malformed":
        send(id=request_id, result={"hello": "world"})
        return
    if "newest" in OPTIONS and refuse_version(request_id, params["protocolVersion"]):
        return
    version = OPTIONS.get("version", params["protocolVersion"])
    send(
        id=request_id,
        result={
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "legacy", "version": "1"},
            "instructions": OPTIONS.get("instructions", "Be kind.").format(**os.environ),
        },
    )


def unknown(request_id, method):
    reaction = OPTIONS.get("unknown", "reject")
    if reaction == "die":
        sys.stderr.write(f"unknown method {method}\n")
        sys.stderr.flush()
        os._exit(1)
    if reaction == "vanish":
        os._exit(1)
    if reaction == "wedge":
        time.sleep(600)
    if reaction == "reject":
        send(id=request_id, error={"code": -32601, "message": "Method not found"})


def handle(message):
    method, request_id, params = message["method"], message.get("id"), message.get("params", {})
    METHODS.append(method)
    if method == "notifications/cancelled":
        CANCELLED.append(params["requestId"])
    elif request_id is None:
        if "answers_notifications" in OPTIONS:
            time.sleep(0.05)  # until the next request waits
            send(**json.loads(OPTIONS["answers_notifications"]))
    elif method == "initialize":
        initialize(request_id, params)
    elif method == "tools/list":
        send(id=request_id, result=list_tools(params.get("cursor")))
    elif method == "tools/call":
        META.clear()
        META.update(params.get("_meta", {}))
        TOOLS[params["name"]](request_id, params.get("arguments", {}))
    else:
        unknown(request_id, method)


def main():
    if "greeting" in OPTIONS:
        write_all(OPTIONS["greeting"].encode() + b"\n")
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" in message:
            handle(message)


if __name__ == "__main__":
    main()
