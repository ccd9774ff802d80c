"""Concludes a call that its server answers with an MCP task.

A call whose client speaks the extension returns the handle. Any other call is held: the gateway
asks for the task's state until it ends, has the client answer what the task asks meanwhile, and
returns what the call itself would have returned.

References:
    SEP-2663, Tasks extension of MCP 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND

from gateway_project.foundation.task_group import TaskGroup
from tools import mcp_tasks
from tools.mcp_tasks import ID_FIELD
from tools.upstream.errors import ProtocolViolation, UpstreamError
from tools.upstream.in_flight import InFlightRequest
from tools.upstream.inbound import QUESTIONS
from tools.upstream.output import ConnectionOrigin
from tools.upstream.request import UpstreamRequest

MIN_INTERVAL_S: Final = 0.05
MAX_INTERVAL_S: Final = 60.0
DEFAULT_INTERVAL_S: Final = 1.0
CANCEL_TIMEOUT_S: Final = 5.0

SendRequest = Callable[[UpstreamRequest], Awaitable[dict[str, Any]]]
"""Sends a request to the server and returns its result; raises `MCPError`."""


async def conclude_task(
    flight: InFlightRequest,
    created: dict[str, Any],
    origin: ConnectionOrigin,
    group: TaskGroup,
    send: SendRequest,
) -> dict[str, Any]:
    """Return a task's handle to a client that speaks the extension; hold it for any other.

    Args:
        flight: The call; its time limit goes on while the task is held.
        created: The handle.
        origin: The server's.
        group: Delivers reports of progress.
        send: Sends requests about the task.

    Returns:
        The handle, or the result of the call.

    Raises:
        MCPError: If the task failed or was cancelled, or needs input that nobody gives.
        ProtocolViolation: If the server's answers are not what the extension defines.
    """
    task = created.get(ID_FIELD)
    if not isinstance(task, str) or not task:
        raise ProtocolViolation(
            f"answers {flight.request.description} with a task that has no id",
            server=origin.server,
        )
    if mcp_tasks.declares_tasks(flight.request.downstream.capabilities):
        return created
    return await _HeldTask(flight, task, origin=origin, group=group, send=send).hold(created)


class _HeldTask:
    """The task of one call, followed to its end."""

    def __init__(
        self,
        flight: InFlightRequest,
        task: str,
        *,
        origin: ConnectionOrigin,
        group: TaskGroup,
        send: SendRequest,
    ) -> None:
        self._flight = flight
        self._task = task
        self._origin = origin
        self._group = group
        self._send = send
        self._answered: set[str] = set()
        self._report_count = 0
        self._last_change: tuple[Any, Any] = (None, None)

    async def hold(self, created: Mapping[str, Any]) -> dict[str, Any]:
        """Return the call's result once the task ends; cancel it if nobody waits any more."""
        try:
            state = created
            while state.get("status") not in mcp_tasks.ENDED:
                await asyncio.sleep(_read_interval_s(state))
                state = await self._load_state()
                self._note_change(state)
                await self._answer_questions(state)
            if state is created:  # it ended at once, and the handle has no result
                state = await self._load_state()
        except BaseException:
            await self._cancel()
            raise
        return self._conclude(state)

    async def _load_state(self) -> dict[str, Any]:
        return await self._request(mcp_tasks.GET_METHOD)

    async def _request(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._send(
            UpstreamRequest(
                method=method,
                params={ID_FIELD: self._task, **params},
                downstream=self._flight.request.downstream,
            )
        )

    async def _cancel(self) -> None:
        """Have the server cancel the task, if it can still be reached."""
        with suppress(MCPError, UpstreamError, TimeoutError):
            async with asyncio.timeout(CANCEL_TIMEOUT_S):
                await self._request(mcp_tasks.CANCEL_METHOD)

    def _conclude(self, state: Mapping[str, Any]) -> dict[str, Any]:
        status, result, error = state.get("status"), state.get("result"), state.get("error")
        if status == mcp_tasks.FAILED and isinstance(error, Mapping):
            code = error.get("code")
            number = code if isinstance(code, int) else INTERNAL_ERROR
            raise MCPError(number, str(error.get("message", "")), error.get("data"))
        if status == mcp_tasks.CANCELLED:
            why = self._read_message(state)
            raise MCPError(INTERNAL_ERROR, f"its task was cancelled{why and f': {why}'}")
        if isinstance(result, dict) and not mcp_tasks.is_task(result):
            return result
        raise ProtocolViolation(
            f"ended the task of {self._flight.request.description} without its result",
            server=self._origin.server,
        )

    def _note_change(self, state: Mapping[str, Any]) -> None:
        """Take a change of the state as progress: it extends the call, and the client is told."""
        change = (state.get("lastUpdatedAt"), state.get("statusMessage"))
        if change == self._last_change:
            return
        self._last_change = change
        self._flight.extend()
        progress, message = self._flight.request.progress, self._read_message(state)
        if progress is not None and message:
            self._report_count += 1
            self._flight.queue_notice(
                partial(progress, float(self._report_count), None, message),
                group=self._group,
                at_most=self._origin.limits.max_queued_notices,
            )

    def _read_message(self, state: Mapping[str, Any]) -> str:
        message = state.get("statusMessage")
        return self._origin.redactor.redact(message) if isinstance(message, str) else ""

    async def _answer_questions(self, state: Mapping[str, Any]) -> None:
        """Have the client answer the questions that it has not answered yet, one by one."""
        asked = state.get("inputRequests")
        for key, question in asked.items() if isinstance(asked, Mapping) else ():
            if key in self._answered:
                continue
            answer = await self._ask(question)
            self._answered.add(key)
            with suppress(MCPError):  # it may have ended meanwhile, which the next state says
                await self._request(mcp_tasks.UPDATE_METHOD, inputResponses={key: answer})

    async def _ask(self, question: Any) -> dict[str, Any]:
        flight, limits = self._flight, self._origin.limits
        method = question.get("method") if isinstance(question, Mapping) else None
        if method not in QUESTIONS:
            raise MCPError(METHOD_NOT_FOUND, "its task asks for input that MCP does not define")
        ask = flight.request.downstream.ask
        flight.question_count += 1
        if ask is None or flight.question_count > limits.max_questions:
            raise MCPError(INVALID_REQUEST, f"its task needs {method}, and nobody can be asked")
        flight.pause()
        try:
            async with asyncio.timeout(limits.question_timeout_s):
                return await ask(str(method), question.get("params") or {})
        finally:
            flight.resume()


def _read_interval_s(state: Mapping[str, Any]) -> float:
    interval_ms = state.get("pollIntervalMs")
    if not isinstance(interval_ms, int | float):
        return DEFAULT_INTERVAL_S
    return min(max(interval_ms / 1_000, MIN_INTERVAL_S), MAX_INTERVAL_S)
