"""A server with one read-only tool that takes a given time; calls overlap.

    python -m benchmarks.execution.slow_server SECONDS

It uses only the standard library, so that it starts quickly. Revision 2026-07-28.
"""

from __future__ import annotations

import sys

from benchmarks import plain_server

TOOL = {
    "name": "wait",
    "description": "Wait.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


def main() -> None:
    """Answer requests until stdin ends."""
    plain_server.serve(
        [TOOL], lambda _name, _arguments: {"content": []}, delay_s=float(sys.argv[1])
    )


if __name__ == "__main__":
    main()
