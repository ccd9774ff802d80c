"""Forwards a legacy server's requests (sampling, elicitation, roots) to the client it serves."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

import structlog
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ErrorData, JSONRPCRequest, RequestId

from gateway_project.foundation.task_group import TaskGroup
from tools.upstream import nesting
from tools.upstream.client import ClientProfile
from tools.upstream.downstream import AskClient, Downstream
from tools.upstream.in_flight import NO_CALL, InFlightRequest
from tools.upstream.wire import Wire

QUESTIONS = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
ROOTS: Final = "roots/list"  # may outlive its call, and needs no person
MAX_DEPTH = 128  # levels of JSON in a question

log = structlog.get_logger(__name__)


class _ServerQuestion(NamedTuple):
    method: str
    work: asyncio.Task[dict[str, Any] | ErrorData]
    requests: list[InFlightRequest]
    ended: asyncio.Event


class ClientQuestions:
    """Forwards questions to the client of the request they belong to, and returns the answers.

    A question belongs to the request on whose stream it arrived; if the transport has no such
    streams, to the only client with requests in flight. The server always gets an answer.

    Args:
        wire: Sends the answers.
        client: Requests in flight, and what becomes of a question for roots.
        group: Runs the forwarding.
    """

    def __init__(self, wire: Wire, *, client: ClientProfile, group: TaskGroup) -> None:
        self._wire = wire
        self._limits = wire.origin.limits
        self._flights = client.flights
        self._on_roots_asked = client.on_roots_asked
        self._group = group
        self._open: dict[RequestId, _ServerQuestion] = {}

    def find_request(self, related: RequestId | None) -> InFlightRequest | str:
        """Return the request that a server's message belongs to, or the reason there is none."""
        if related is None:
            return self._flights.find_only_party()
        flight = self._flights.find_by_id(coerce_request_id(related))
        return "the request it belongs to has ended" if flight is None else flight

    def find_client(self, related: RequestId | None) -> Downstream | None:
        """Return the client that would receive a question."""
        flight = self.find_request(related)
        return None if isinstance(flight, str) else flight.request.downstream

    def handle_question(self, request: JSONRPCRequest, *, related: RequestId | None) -> None:
        """Start answering a question, by the client or with a refusal."""
        flight = self.find_request(related)
        refusal = flight if isinstance(flight, str) else self._find_refusal(flight, request)
        if request.method == ROOTS and self._flights.owner is None:
            refusal = self._find_roots_refusal(flight, refusal)
        if request.method == ROOTS and flight == NO_CALL:
            # Servers ask right after they start: a connection that serves nobody has no roots.
            answer = self._wire.send_answer(request.id, {"roots": []}, related=related)
            self._group.create_task(answer)
            return
        if refusal or isinstance(flight, str):
            error = ErrorData(
                code=INVALID_REQUEST,
                message=f"{request.method} cannot be passed on by the gateway: {refusal}",
            )
            self._group.create_task(self._wire.send_answer(request.id, error, related=related))
            return
        flight.question_count += 1
        owners = [flight] if related is not None else self._flights.list_same_party(flight)
        paused = [owner for owner in owners if owner.deadline is not None]
        if request.method == ROOTS:
            owners = []
        work = self._group.create_task(self._ask_client(flight.request.downstream.ask, request))
        question = _ServerQuestion(request.method, work, owners, asyncio.Event())
        self._open[coerce_request_id(request.id)] = question
        for owner in paused:
            owner.pause()
        self._group.create_task(self._finish(request, question, paused, related=related))

    def withdraw(self, request_id: RequestId) -> None:
        """Cancel a question that the server has cancelled."""
        question = self._open.pop(coerce_request_id(request_id), None)
        if question is not None:
            question.work.cancel()

    def withdraw_for(self, flight: InFlightRequest) -> None:
        """Cancel the questions that belonged only to a request that has ended."""
        for question in self._open.values():
            if flight in question.requests:
                question.requests.remove(flight)
                if not question.requests:
                    question.work.cancel()

    async def wait_for_roots(self) -> bool:
        """Wait until the server has been sent the roots it asks for; return whether it asks."""
        asked = [question for question in self._open.values() if question.method == ROOTS]
        for question in asked:
            await question.ended.wait()
        return bool(asked)

    def _find_roots_refusal(self, flight: InFlightRequest | str, refusal: str) -> str:
        """Return why a shared connection learns no roots; empty: it is the client's own now."""
        only = None
        if not (refusal or isinstance(flight, str)):
            is_alone = len(self._flights.list_same_party(flight)) == len(self._flights)
            only = flight if is_alone and flight.request.downstream.has_roots else None
        if self._on_roots_asked(only):
            return ""
        return refusal or "several clients share its connection, and none learns another's roots"

    def _find_refusal(self, flight: InFlightRequest, request: JSONRPCRequest) -> str:
        if flight.request.downstream.ask is None:
            return "the client of this call cannot be asked"
        if flight.question_count >= self._limits.max_questions:
            return f"one call may ask {self._limits.max_questions} times"
        excess = nesting.measure_value(
            request.params or {}, max_depth=MAX_DEPTH, max_bytes=self._limits.max_question_bytes
        )
        return f"it is too {excess}" if isinstance(excess, str) else ""

    async def _finish(
        self,
        request: JSONRPCRequest,
        question: _ServerQuestion,
        paused: list[InFlightRequest],
        *,
        related: RequestId | None,
    ) -> None:
        """Wait for the answer and send it, unless the server has cancelled the question."""
        key = coerce_request_id(request.id)
        try:
            await asyncio.wait({question.work})
        finally:
            for flight in paused:
                flight.resume()
        if self._open.get(key) is question:
            del self._open[key]
            await self._wire.send_answer(request.id, _task_outcome(question.work), related=related)
        question.ended.set()

    async def _ask_client(
        self, ask: AskClient | None, request: JSONRPCRequest
    ) -> dict[str, Any] | ErrorData:
        assert ask is not None  # noqa: S101 - _find_refusal checks it
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
            # Top of a task: the server must get an answer, and the connection must survive.
            log.exception("client.question_failed", server=self._wire.origin.server)
            return ErrorData(code=INTERNAL_ERROR, message="the client could not be asked")


def _task_outcome(work: asyncio.Task[dict[str, Any] | ErrorData]) -> dict[str, Any] | ErrorData:
    if work.cancelled():
        return ErrorData(code=INVALID_REQUEST, message="the request it belonged to has ended")
    return work.result()
