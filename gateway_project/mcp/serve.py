"""Runs a gateway on stdio from start to clean exit."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from gateway_project.foundation import stop_guard
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp import stdio
from gateway_project.mcp.attach.host import AttachOffer, host_attachments
from gateway_project.mcp.first_answers import FirstAnswers
from gateway_project.mcp.runtime import PreparedRuntime, Runtime
from gateway_project.mcp.wire import ConversationReplay, ProtocolWire
from gateway_project.readiness import Readiness

FINISH_TIMEOUT_S: Final = 5.0
"""Time for attached clients' requests to finish once the process's own client has gone."""
STOP_TIMEOUT_S: Final = 9.0
"""After this the process exits even if something hangs; upstream children follow by themselves."""
KILL_TIMEOUT_S: Final = STOP_TIMEOUT_S + 3.0
"""Grace after a signal, enforced by the guard process even if the event loop is stuck."""
ORPHAN_TIMEOUT_S: Final = 30.0
"""The same after the client has closed its end: its last messages may still be unread."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_CLIENT_GONE: Final = (BrokenPipeError, ConnectionResetError)

log = logging.getLogger(__name__)


def serve_stdio(
    wire: ProtocolWire,
    *,
    prepare: Callable[[], PreparedRuntime],
    host: AttachOffer | None = None,
    prelude: ConversationReplay | None = None,
    first: FirstAnswers | None = None,
    load_instructions: Callable[[], Mapping[str, str]] = dict,
) -> None:
    """Serve until the client closes its end, goes away, or a signal asks to stop.

    Args:
        wire: The claimed wire.
        prepare: Loads the runtime; called in a thread while the protocol is already served.
        host: How other gateways may attach to this one; None if they may not.
        prelude: State of the conversation, if another gateway has served the client so far.
        first: Answers the client until this gateway is loaded; None: nothing does.
        load_instructions: As of `Runtime`.
    """
    try:
        runtime = partial(Runtime, prepare, load_instructions)
        asyncio.run(_serve_connection(wire, runtime, host, prelude, first))
    except asyncio.CancelledError:
        log.debug("stopped by a signal")
    except _CLIENT_GONE:
        log.debug("client disconnected")


async def _serve_connection(
    wire: ProtocolWire,
    make_runtime: Callable[[], Runtime],
    host: AttachOffer | None,
    prelude: ConversationReplay | None,
    first: FirstAnswers | None,
) -> None:
    _cancel_on_signal()
    runtime = make_runtime()
    if prelude is not None or (first is not None and first.has_started):  # it has shaken hands
        runtime.readiness.in_use.set()
    in_flight = mcp_server.InFlightCounter()
    server = mcp_server.build_server(runtime, in_flight=in_flight)
    async with TaskGroup() as group:
        background = group.create_task(runtime.run(), name="runtime")
        try:
            async with host_attachments(runtime, server, in_flight=in_flight, offered=host):
                if prelude is None and first is not None:
                    prelude = await _take_over(first, runtime.readiness)
                async with stdio.open_wire_streams(
                    wire, idle=in_flight.wait_until_idle, prelude=prelude, first=first
                ) as pair:
                    await server.run(*pair, mcp_server.make_initialization_options(server))
                if host is not None:
                    await _wait_for_in_flight(in_flight)
        finally:
            _exit_in_time()
            background.cancel()


async def _take_over(first: FirstAnswers, readiness: Readiness) -> ConversationReplay:
    """Take a conversation over once a request needs this gateway, or it can serve any."""
    loop = asyncio.get_running_loop()
    needed = asyncio.Event()

    def need() -> None:
        with suppress(RuntimeError):  # the loop is closed: a signal came first
            loop.call_soon_threadsafe(needed.set)

    first.call_when_needed(need)
    waits = [asyncio.create_task(one.wait()) for one in (needed, readiness.next_change)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return await asyncio.to_thread(first.hand_over)


async def _wait_for_in_flight(in_flight: mcp_server.InFlightCounter) -> None:
    """Let the requests of attached clients finish; later ones go to another gateway."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FINISH_TIMEOUT_S):
            await in_flight.wait_until_idle()


def _cancel_on_signal() -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    for number in _SIGNALS:
        loop.add_signal_handler(number, task.cancel)
    stop_guard.watch_signals()


def _exit_in_time() -> None:
    """Exit the process within `STOP_TIMEOUT_S`, even if a database or model thread hangs."""
    watchdog = threading.Timer(STOP_TIMEOUT_S, os._exit, args=(0,))
    watchdog.daemon = True
    watchdog.start()
