"""Requests of a legacy server to the client it works for."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import structlog
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ErrorData, JSONRPCRequest, RequestId

from tools.upstream import nesting
from tools.upstream.dispatch import Wire
from tools.upstream.downstream import Ask, Downstream
from tools.upstream.flights import Flight, Flights
from tools.upstream.limits import Limits

QUESTIONS = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
_LASTING = "roots/list"  # asked at any time, of interest beyond the call, and troubles no person
MAX_DEPTH = 128  # levels of JSON in a question

log = structlog.get_logger(__name__)


class _Question(NamedTuple):
    work: asyncio.Task[dict[str, Any] | ErrorData]
    concerned: list[Flight]


class Questions:
    """Hands questions to the client of the request they belong to, and answers back.

    A question belongs to the request on whose stream it came; where the transport cannot tell, to
    the only client there is at the moment. Whatever else happens, the server gets an answer.

    Args:
        wire: Takes the answers.
        flights: Requests under way.
        limits: How many, how large, how long.
        server: Name for messages.
    """

    def __init__(self, wire: Wire, *, flights: Flights, limits: Limits, server: str) -> None:
        self._wire = wire
        self._flights = flights
        self._limits = limits
        self._server = server
        self._open: dict[RequestId, _Question] = {}

    def flight(self, related: RequestId | None) -> Flight | str:
        """Return the request that something belongs to, or say why there is none."""
        if related is None:
            return self._flights.only_party()
        flight = self._flights.by_id(coerce_request_id(related))
        return "the request it belongs to is over" if flight is None else flight

    def whose(self, related: RequestId | None) -> Downstream | None:
        """Return the client that a question would go to."""
        flight = self.flight(related)
        return None if isinstance(flight, str) else flight.request.downstream

    def take(
        self, request: JSONRPCRequest, *, related: RequestId | None, group: asyncio.TaskGroup
    ) -> None:
        """Have a question answered."""
        flight = self.flight(related)
        refusal = flight if isinstance(flight, str) else self._refusal(flight, request)
        if refusal or isinstance(flight, str):
            error = ErrorData(
                code=INVALID_REQUEST,
                message=f"{request.method} cannot be passed on by the gateway: {refusal}",
            )
            group.create_task(self._wire.answer(request.id, error, related=related))
            return
        flight.questions += 1
        concerned = [flight] if related is not None else self._flights.partners(flight)
        waiting = [one for one in concerned if one.deadline is not None]
        if request.method == _LASTING:
            concerned = []
        work = group.create_task(self._client_says(flight.request.downstream.ask, request))
        question = self._open[coerce_request_id(request.id)] = _Question(work, concerned)
        for one in waiting:
            one.pause()
        group.create_task(self._finish(request, question, waiting, related=related))

    def withdraw(self, request_id: RequestId) -> None:
        """Stop asking because the server no longer wants to know."""
        question = self._open.pop(coerce_request_id(request_id), None)
        if question is not None:
            question.work.cancel()

    def withdraw_all(self, flight: Flight) -> None:
        """Stop asking what only a request that is over wanted to know."""
        for question in self._open.values():
            if flight in question.concerned:
                question.concerned.remove(flight)
                if not question.concerned:
                    question.work.cancel()

    def _refusal(self, flight: Flight, request: JSONRPCRequest) -> str:
        if flight.request.downstream.ask is None:
            return "the client of this call cannot be asked"
        if flight.questions >= self._limits.max_questions:
            return f"one call may ask {self._limits.max_questions} times"
        excess = nesting.measure(
            request.params or {}, max_depth=MAX_DEPTH, max_bytes=self._limits.max_question_bytes
        )
        return f"it is too {excess}" if isinstance(excess, str) else ""

    async def _finish(
        self,
        request: JSONRPCRequest,
        question: _Question,
        waiting: list[Flight],
        *,
        related: RequestId | None,
    ) -> None:
        """Wait for the answer and send it, unless the server no longer wants one."""
        key = coerce_request_id(request.id)
        try:
            await asyncio.wait({question.work})
        finally:
            for one in waiting:
                one.resume()
        if self._open.get(key) is question:
            del self._open[key]
            await self._wire.answer(request.id, _outcome(question.work), related=related)

    async def _client_says(
        self, ask: Ask | None, request: JSONRPCRequest
    ) -> dict[str, Any] | ErrorData:
        assert ask is not None  # noqa: S101 - or it would have been refused
        limit_s = self._limits.question_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await ask(request.method, request.params or {})
        except TimeoutError:
            return ErrorData(
                code=INTERNAL_ERROR, message=f"the client did not answer within {limit_s:g} s"
            )
        except MCPError as error:
            return error.error
        except Exception:
            # The top of a task: the server must get an answer and the connection live on.
            log.exception("a client could not be asked", server=self._server)
            return ErrorData(code=INTERNAL_ERROR, message="the client could not be asked")


def _outcome(work: asyncio.Task[dict[str, Any] | ErrorData]) -> dict[str, Any] | ErrorData:
    if work.cancelled():
        return ErrorData(code=INVALID_REQUEST, message="the request it belonged to is over")
    return work.result()
