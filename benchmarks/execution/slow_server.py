"""A server with one read-only tool that takes a given time; calls overlap.

    python -m benchmarks.execution.slow_server SECONDS

It uses only the standard library, so that it starts quickly. Revision 2026-07-28.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

VERSION = "2026-07-28"
TOOL = {
    "name": "wait",
    "description": "Wait.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
_output = threading.Lock()


def main() -> None:
    """Answer requests until stdin ends."""
    delay_s = float(sys.argv[1])
    for line in sys.stdin:
        message = json.loads(line)
        request = message.get("id")
        if request is None:
            continue
        if message["method"] == "tools/call":
            timer = threading.Timer(delay_s, _answer, (request, {"content": []}))
            timer.daemon = True
            timer.start()
        elif message["method"] == "tools/list":
            _answer(request, {"tools": [TOOL]})
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


if __name__ == "__main__":
    main()
