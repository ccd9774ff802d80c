"""A caller that waits for each answer before its next call, in a separate process.

    python healthy_caller.py '{"port": …, "headers": {…}, "body": {…}}'

Prints a line after its first call, keeps calling until stdin ends, then prints the seconds of each
call as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import uvloop

from benchmarks.gateway_cost.load import Connection, encode


async def call(task: Mapping[str, Any]) -> list[float]:
    """Send the same request repeatedly until stdin ends."""
    request = encode(task["port"], task["headers"], task["body"])
    streams = await asyncio.open_connection("127.0.0.1", task["port"], limit=2**26)
    connection = Connection(*streams)
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    await connection.post(request)
    print("calling", flush=True)
    taken: list[float] = []
    while not ended.is_set():
        started = time.perf_counter()
        await connection.post(request)
        taken.append(time.perf_counter() - started)
    return taken


if __name__ == "__main__":
    print(json.dumps(uvloop.run(call(json.loads(sys.argv[1])))))
