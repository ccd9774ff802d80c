"""A server that lists what a real one listed, and answers no call.

    python -m benchmarks.outside.recorded_server RECORDING NAME

It speaks the revision that the real ones were asked in, and uses only the standard library, so
that dozens start quickly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}
_NOT_CALLED = {"code": -32603, "message": "a recorded server answers no call"}


def answer(recorded: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result or the error of a request, under its name in JSON-RPC."""
    if message["method"] == "initialize":
        greeting = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": recorded["server_info"],
        }
        return {"result": greeting}
    if message["method"] == "tools/list":
        return {"result": {"tools": recorded["tools"]}}
    if message["method"] == "ping":
        return {"result": {}}
    return {"error": _NOT_CALLED if message["method"] == "tools/call" else _METHOD_NOT_FOUND}


def main() -> None:
    """Answer requests until stdin ends."""
    recorded = json.loads(Path(sys.argv[1]).read_text())[sys.argv[2]]
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            whole = {"jsonrpc": "2.0", "id": message["id"], **answer(recorded, message)}
            sys.stdout.write(json.dumps(whole) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
