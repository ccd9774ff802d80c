"""Run the gateway with a heartbeat in its event loop, so that stalls are measured from inside.

    python -m benchmarks.loop_stalls.gateway RECORD run_gateway --http …

`RECORD` is a file of `heartbeat.SIZE` bytes that the benchmark maps too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import uvloop

from benchmarks.loop_stalls.heartbeat import Record


def main() -> None:
    """Run `manage.py` on an event loop that records the delay of its timers."""
    record = Record(Path(sys.argv[1]))
    uvloop.new_event_loop = _with_heartbeat(uvloop.new_event_loop, record)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")

    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[2:]])


def _with_heartbeat(
    make_loop: Callable[[], uvloop.Loop], record: Record
) -> Callable[[], uvloop.Loop]:
    def make() -> uvloop.Loop:
        loop = make_loop()
        loop.call_soon(record.beat, loop)
        return loop

    return make


if __name__ == "__main__":
    main()
