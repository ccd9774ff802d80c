"""A server over stdio whose calls take a given time and overlap; revision 2026-07-28.

It uses only the standard library, so that servers made with it start quickly.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

VERSION: Final = "2026-07-28"
AnswerCall = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Returns the result of a tool by its name and arguments."""
_output = threading.Lock()


def serve(tools: Sequence[Mapping[str, Any]], answer_call: AnswerCall, *, delay_s: float) -> None:
    """Answer requests until stdin ends.

    Args:
        tools: Their definitions.
        answer_call: Computes results, when the request arrives.
        delay_s: Seconds until a result is sent.
    """
    for line in sys.stdin:
        message = json.loads(line)
        request, params = message.get("id"), message.get("params", {})
        if request is None:
            continue
        if message["method"] == "tools/call":
            result = answer_call(params["name"], params.get("arguments", {}))
            timer = threading.Timer(delay_s, _answer, (request, result))
            timer.daemon = True
            timer.start()
        elif message["method"] == "tools/list":
            _answer(request, {"tools": list(tools)})
        elif message["method"] == "server/discover":
            _answer(request, {"supportedVersions": [VERSION], "capabilities": {"tools": {}}})
        else:
            _send({"id": request, "error": {"code": -32601, "message": "Method not found"}})


def _answer(request: object, result: dict[str, Any]) -> None:
    whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    _send({"id": request, "result": whole})


def _send(message: dict[str, Any]) -> None:
    line = json.dumps({"jsonrpc": "2.0", **message})
    with _output:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
