"""A gateway on stdio, from its start to a clean end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from typing import Final

from gateway_project.mcp import server as mcp_server
from gateway_project.mcp import stdio
from gateway_project.mcp.runtime import Prepared, Runtime
from gateway_project.mcp.wire import Wire

STOP_S: Final = 9.0
"""After this the process ends whatever still hangs; upstream children follow by themselves."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_CLIENT_GONE: Final = (BrokenPipeError, ConnectionResetError)

log = logging.getLogger(__name__)


def serve(wire: Wire, *, prepare: Callable[[], Prepared]) -> None:
    """Serve until the client closes its end, goes away, or a signal asks to stop.

    Args:
        wire: As claimed.
        prepare: Loads what calls are served with, in a thread, beside the protocol.
    """
    try:
        asyncio.run(_serve(wire, prepare))
    except asyncio.CancelledError:
        log.debug("stopped by a signal")
    except BaseExceptionGroup as errors:
        _, unforeseen = errors.split(_CLIENT_GONE)
        if unforeseen is not None:
            raise unforeseen from None
        log.debug("the client listens no more")


async def _serve(wire: Wire, prepare: Callable[[], Prepared]) -> None:
    _cancel_on_signal()
    runtime = Runtime(prepare)
    in_flight = mcp_server.InFlight()
    server = mcp_server.build(runtime, in_flight=in_flight)
    async with asyncio.TaskGroup() as group:
        background = group.create_task(runtime.run(), name="runtime")
        try:
            async with stdio.streams(wire, idle=in_flight.idle) as (received, sent):
                await server.run(received, sent, mcp_server.initialization_options(server))
        finally:
            _leave_in_time()
            background.cancel()


def _cancel_on_signal() -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    for number in _SIGNALS:
        loop.add_signal_handler(number, task.cancel)


def _leave_in_time() -> None:
    """End the process in bounded time, even if a thread of a query or a model hangs."""
    watchdog = threading.Timer(STOP_S, os._exit, args=(0,))
    watchdog.daemon = True
    watchdog.start()
