"""Routes a server's unsolicited requests and notifications to their recipients."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import structlog
from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp_types import (
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)

from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.client import ClientProfile
from tools.upstream.downstream import Downstream
from tools.upstream.peer import Era
from tools.upstream.questions import QUESTIONS, ClientQuestions
from tools.upstream.status import ListName
from tools.upstream.wire import Wire

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
MAX_ELICITATIONS = 256  # remembered out-of-band ones whose completion may still be reported

_CHANGED: Mapping[str, ListName] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}

log = structlog.get_logger(__name__)


class InboundHandler:
    """The `MessageReceiver` of a connection.

    Args:
        wire: Sends the answers.
        client: Requests in flight, and listeners for notifications outside any request.
        group: Runs background work.

    Attributes:
        questions: Requests for the client.
        era: The protocol's era, once negotiated.
        subscription: Handler of subscription notifications; returns whether it consumed one.
    """

    def __init__(self, wire: Wire, *, client: ClientProfile, group: TaskGroup) -> None:
        self._wire = wire
        self._redactor = wire.origin.redactor
        self._max_notices = wire.origin.limits.max_queued_notices
        self._client = client
        self._group = group
        self.questions = ClientQuestions(wire, client=client, group=group)
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
            self._remember_elicitation(request.params or {}, self.questions.find_client(related))
            self.questions.handle_question(request, related=related)
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
        flight.queue_notice(report, group=self._group, at_most=self._max_notices)

    def _handle_log_message(self, params: Mapping[str, Any], related: RequestId | None) -> None:
        flight = self.questions.find_request(related)
        if isinstance(flight, str):
            return
        downstream = flight.request.downstream
        if downstream.tell is None or not _is_wanted(params.get("level"), downstream.log_level):
            return
        redacted = self._redactor.redact_json(params)
        notice = partial(downstream.tell, "notifications/message", redacted)
        flight.queue_notice(notice, group=self._group, at_most=self._max_notices)

    def _handle_resource_update(self, params: Mapping[str, Any]) -> None:
        uri = params.get("uri")
        if isinstance(uri, str) and not self.subscription(
            "notifications/resources/updated", params
        ):
            self._client.on_resource_updated(uri)

    def _handle_cancellation(self, params: Mapping[str, Any]) -> None:
        request_id = as_request_id(params.get("requestId"))
        if not self.subscription("notifications/cancelled", params) and request_id is not None:
            self.questions.withdraw(request_id)

    def _handle_acknowledgement(self, params: Mapping[str, Any]) -> None:
        self.subscription("notifications/subscriptions/acknowledged", params)

    def _remember_elicitation(
        self, params: Mapping[str, Any], downstream: Downstream | None
    ) -> None:
        elicitation_id = params.get("elicitationId")
        if isinstance(elicitation_id, str) and downstream is not None:
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
