"""A gateway on stdio, from its start to a clean end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Final

from gateway_project.mcp import server as mcp_server
from gateway_project.mcp import stdio
from gateway_project.mcp.attach.hosting import Hosting, Offered
from gateway_project.mcp.conversation import Prelude
from gateway_project.mcp.runtime import Prepared, Runtime
from gateway_project.mcp.wire import Wire

FINISH_S: Final = 5.0
"""Requests of attached clients get so long once the process's own client has gone."""
STOP_S: Final = 9.0
"""After this the process ends whatever still hangs; upstream children follow by themselves."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_CLIENT_GONE: Final = (BrokenPipeError, ConnectionResetError)

log = logging.getLogger(__name__)


def serve(
    wire: Wire,
    *,
    prepare: Callable[[], Prepared],
    host: Offered | None = None,
    prelude: Prelude | None = None,
) -> None:
    """Serve until the client closes its end, goes away, or a signal asks to stop.

    Args:
        wire: As claimed.
        prepare: Loads what calls are served with, in a thread, beside the protocol.
        host: How other gateways may attach to this one; None: they may not.
        prelude: Where the client is, if another gateway has served it so far.
    """
    try:
        asyncio.run(_serve(wire, prepare, host, prelude))
    except asyncio.CancelledError:
        log.debug("stopped by a signal")
    except BaseExceptionGroup as errors:
        _, unforeseen = errors.split(_CLIENT_GONE)
        if unforeseen is not None:
            raise unforeseen from None
        log.debug("the client listens no more")


async def _serve(
    wire: Wire,
    prepare: Callable[[], Prepared],
    host: Offered | None,
    prelude: Prelude | None,
) -> None:
    _cancel_on_signal()
    runtime = Runtime(prepare)
    if prelude is not None:  # a client that is taken over was there to stay already
        runtime.readiness.listed.set()
    in_flight = mcp_server.InFlight()
    server = mcp_server.build(runtime, in_flight=in_flight)
    hosting = Hosting(runtime, server, in_flight=in_flight, offered=host) if host else None
    async with asyncio.TaskGroup() as group:
        background = group.create_task(runtime.run(), name="runtime")
        try:
            async with hosting.open() if hosting else nullcontext():
                async with stdio.streams(wire, idle=in_flight.idle, prelude=prelude) as pair:
                    await server.run(*pair, mcp_server.initialization_options(server))
                if hosting:
                    await _let_finish(in_flight)
        finally:
            _leave_in_time()
            background.cancel()


async def _let_finish(in_flight: mcp_server.InFlight) -> None:
    """Let the requests of attached clients end; what comes next, they do elsewhere."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FINISH_S):
            await in_flight.idle()


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
