"""Routes a server's questions to the client they belong to, and its notifications."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import structlog
from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)

from gateway_project.foundation.task_group import TaskGroup
from tools.upstream import nesting
from tools.upstream.in_flight import NO_CALL, ClientProfile, InFlightRequest
from tools.upstream.request import AskClient, Downstream
from tools.upstream.status import Era, ListName
from tools.upstream.wire import Wire

QUESTIONS = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
ROOTS: Final = "roots/list"  # may outlive its call, and needs no person
MAX_DEPTH = 128  # levels of JSON in a question

log = structlog.get_logger(__name__)

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
MAX_ELICITATIONS = 256  # remembered out-of-band ones whose completion may still be reported

_CHANGED: Mapping[str, ListName] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}


class _ServerQuestion(NamedTuple):
    method: str
    work: asyncio.Task[dict[str, Any] | ErrorData]
    requests: list[InFlightRequest]
    ended: asyncio.Event


class InboundHandler:
    """The `MessageReceiver` of a connection; has clients answer the server's questions.

    A question belongs to the request on whose stream it arrived; if the transport has no such
    streams, to the only client with requests in flight. The server always gets an answer.

    Args:
        wire: Sends the answers.
        client: Requests in flight, what becomes of a question for roots, and listeners for
            notifications outside any request.
        group: Runs background work.

    Attributes:
        era: The protocol's era, once negotiated.
        subscription: Handler of subscription notifications; returns whether it consumed one.
    """

    def __init__(self, wire: Wire, *, client: ClientProfile, group: TaskGroup) -> None:
        self._wire = wire
        self._redactor = wire.origin.redactor
        self._client = client
        self._group = group
        self._limits = wire.origin.limits
        self._open: dict[RequestId, _ServerQuestion] = {}
        self._out_of_band: OrderedDict[str, Downstream] = OrderedDict()
        self._handlers: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "notifications/progress": self._handle_progress,
            "notifications/resources/updated": self._handle_resource_update,
            "notifications/elicitation/complete": self._handle_completion,
            "notifications/cancelled": self._handle_cancellation,
            "notifications/subscriptions/acknowledged": self._handle_acknowledgement,
        }
        self.era: Era | None = None
        self.subscription: Callable[[str, Mapping[str, Any]], bool] = lambda *_: False

    def handle_request(self, request: JSONRPCRequest, *, related: RequestId | None) -> None:
        """Answer a request, or have the client answer it."""
        if self.era == "modern":
            # The modern protocol has no such requests, and on stdio they must not be answered.
            log.warning("server.request_unsupported", method=request.method)
            return
        if request.method in QUESTIONS:
            flight = self._find_request(related)
            if not isinstance(flight, str):
                self._remember_elicitation(request.params or {}, flight.request.downstream)
            self._handle_question(request, flight, related=related)
            return
        outcome: dict[str, Any] | ErrorData = {}
        if request.method != "ping":
            outcome = ErrorData(
                code=METHOD_NOT_FOUND, message="Method not found", data=request.method
            )
        self._group.create_task(self._wire.send_answer(request.id, outcome, related=related))

    def handle_notification(
        self, notification: JSONRPCNotification, *, related: RequestId | None
    ) -> None:
        """Route a notification to its recipient; others are dropped."""
        method, params = notification.method, notification.params or {}
        if method in _CHANGED:
            self._client.on_list_changed(_CHANGED[method])
        elif method == "notifications/message":
            self._handle_log_message(params, related)
        elif method in self._handlers:
            self._handlers[method](params)

    def note_elicitations(self, error: ErrorData, downstream: Downstream) -> None:
        """Remember the elicitations an error names, whose completion the server may report."""
        data = error.data if isinstance(error.data, dict) else {}
        elicitations = data.get("elicitations")
        for elicitation in elicitations if isinstance(elicitations, list) else ():
            if isinstance(elicitation, dict):
                self._remember_elicitation(elicitation, downstream)

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

    def _handle_progress(self, params: Mapping[str, Any]) -> None:
        token, progress = as_request_id(params.get("progressToken")), params.get("progress")
        flight = (
            None if token is None else self._client.flights.find_by_id(coerce_request_id(token))
        )
        value = _read_number(progress)
        if flight is None or not flight.request.wants_progress or value is None:
            return
        flight.extend()
        if flight.request.progress is None:
            return
        message = params.get("message")
        report = partial(
            flight.request.progress,
            value,
            _read_number(params.get("total")),
            self._redactor.redact(message) if isinstance(message, str) else None,
        )
        flight.queue_notice(report, group=self._group, at_most=self._limits.max_queued_notices)

    def _handle_log_message(self, params: Mapping[str, Any], related: RequestId | None) -> None:
        flight = self._find_request(related)
        if isinstance(flight, str):
            return
        downstream = flight.request.downstream
        if downstream.tell is None or not _is_wanted(params.get("level"), downstream.log_level):
            return
        redacted = self._redactor.redact_json(params)
        notice = partial(downstream.tell, "notifications/message", redacted)
        flight.queue_notice(notice, group=self._group, at_most=self._limits.max_queued_notices)

    def _handle_resource_update(self, params: Mapping[str, Any]) -> None:
        uri = params.get("uri")
        if isinstance(uri, str) and not self.subscription(
            "notifications/resources/updated", params
        ):
            self._client.on_resource_updated(uri)

    def _handle_cancellation(self, params: Mapping[str, Any]) -> None:
        request_id = as_request_id(params.get("requestId"))
        if not self.subscription("notifications/cancelled", params) and request_id is not None:
            self._withdraw(request_id)

    def _handle_acknowledgement(self, params: Mapping[str, Any]) -> None:
        self.subscription("notifications/subscriptions/acknowledged", params)

    def _remember_elicitation(self, params: Mapping[str, Any], downstream: Downstream) -> None:
        elicitation_id = params.get("elicitationId")
        if isinstance(elicitation_id, str):
            self._out_of_band[elicitation_id] = downstream
            if len(self._out_of_band) > MAX_ELICITATIONS:
                self._out_of_band.popitem(last=False)

    def _handle_completion(self, params: Mapping[str, Any]) -> None:
        elicitation_id = params.get("elicitationId")
        downstream = (
            self._out_of_band.pop(elicitation_id, None)
            if isinstance(elicitation_id, str)
            else None
        )
        if downstream is not None and downstream.tell is not None:
            self._group.create_task(
                _notify_client(downstream, "notifications/elicitation/complete", params)
            )

    def _find_request(self, related: RequestId | None) -> InFlightRequest | str:
        """Return the request that a server's message belongs to, or the reason there is none."""
        if related is None:
            return self._client.flights.find_only_party()
        flight = self._client.flights.find_by_id(coerce_request_id(related))
        return "the request it belongs to has ended" if flight is None else flight

    def _handle_question(
        self,
        request: JSONRPCRequest,
        flight: InFlightRequest | str,
        *,
        related: RequestId | None,
    ) -> None:
        """Start answering a question, by the client or with a refusal."""
        refusal = flight if isinstance(flight, str) else self._find_refusal(flight, request)
        if request.method == ROOTS and self._client.flights.owner is None:
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
        owners = [flight] if related is not None else self._client.flights.list_same_party(flight)
        paused = [owner for owner in owners if owner.deadline is not None]
        if request.method == ROOTS:
            owners = []
        work = self._group.create_task(self._ask_client(flight.request.downstream.ask, request))
        question = _ServerQuestion(request.method, work, owners, asyncio.Event())
        self._open[coerce_request_id(request.id)] = question
        for owner in paused:
            owner.pause()
        self._group.create_task(self._finish(request, question, paused, related=related))

    def _withdraw(self, request_id: RequestId) -> None:
        """Cancel a question that the server has cancelled."""
        question = self._open.pop(coerce_request_id(request_id), None)
        if question is not None:
            question.work.cancel()

    def _find_roots_refusal(self, flight: InFlightRequest | str, refusal: str) -> str:
        """Return why a shared connection learns no roots; empty: it is the client's own now."""
        only = None
        if not (refusal or isinstance(flight, str)):
            is_alone = len(self._client.flights.list_same_party(flight)) == len(
                self._client.flights
            )
            only = flight if is_alone and flight.request.downstream.has_roots else None
        if self._client.on_roots_asked(only):
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


async def _notify_client(downstream: Downstream, method: str, params: Mapping[str, Any]) -> None:
    try:
        if downstream.tell is not None:
            await downstream.tell(method, params)
    except Exception:
        # Top of a task: an unreachable client must not end the connection.
        log.exception("client.elicitation_notification_failed")


def _read_number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return None


def _is_wanted(level: Any, threshold: str | None) -> bool:
    return (
        level in LEVELS and threshold in LEVELS and LEVELS.index(level) >= LEVELS.index(threshold)
    )
