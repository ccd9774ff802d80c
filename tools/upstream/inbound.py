"""What a server sends of its own accord: each handed to whom it concerns, or answered here."""

from __future__ import annotations

import asyncio
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

from tools.upstream.client import Client
from tools.upstream.dispatch import Wire
from tools.upstream.downstream import Downstream
from tools.upstream.flights import Flight
from tools.upstream.peer import Era
from tools.upstream.questions import QUESTIONS, Questions
from tools.upstream.status import Kind

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
MAX_ELICITATIONS = 256  # out-of-band ones whose end may still be told

_CHANGED: Mapping[str, Kind] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}

log = structlog.get_logger(__name__)


class Inbound:
    """The `Receiver` of a connection.

    Args:
        wire: Takes the answers.
        client: Requests under way, caps, and who hears of what concerns no request.
        group: Runs what takes time.
        server: Name for messages.

    Attributes:
        era: Which protocol is spoken, once that is known.
        subscription: Told of what belongs to a subscription; says whether that was all of it.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        client: Client,
        group: asyncio.TaskGroup,
        server: str,
    ) -> None:
        self._wire = wire
        self._flights = client.flights
        self._limits = client.limits
        self._listeners = client.listeners
        self._group = group
        self._questions = Questions(
            wire, flights=client.flights, limits=client.limits, server=server
        )
        self._out_of_band: OrderedDict[str, Downstream] = OrderedDict()
        self._handlers: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "notifications/progress": self._progress,
            "notifications/resources/updated": self._updated,
            "notifications/elicitation/complete": self._complete,
            "notifications/cancelled": self._cancelled,
            "notifications/subscriptions/acknowledged": self._acknowledged,
        }
        self.era: Era | None = None
        self.subscription: Callable[[str, Mapping[str, Any]], bool] = lambda *_: False

    def take_request(self, request: JSONRPCRequest, *, related: RequestId | None) -> None:
        """Answer a request, or have the client answer it."""
        if self.era == "modern":
            # It must not ask so, and must not be answered on stdio.
            log.warning("a server asks in a way its protocol has abolished", method=request.method)
            return
        if request.method in QUESTIONS:
            self._remember(request.params or {}, self._questions.whose(related))
            self._questions.take(request, related=related, group=self._group)
            return
        outcome: dict[str, Any] | ErrorData = {}
        if request.method != "ping":
            outcome = ErrorData(
                code=METHOD_NOT_FOUND, message="Method not found", data=request.method
            )
        self._group.create_task(self._wire.answer(request.id, outcome, related=related))

    def take_notification(
        self, notification: JSONRPCNotification, *, related: RequestId | None
    ) -> None:
        """Hand a notification to whom it concerns; what concerns nobody is dropped."""
        method, params = notification.method, notification.params or {}
        if method in _CHANGED:
            self._listeners.changed(_CHANGED[method])
        elif method == "notifications/message":
            self._message(params, related)
        elif method in self._handlers:
            self._handlers[method](params)

    def refused(self, error: ErrorData, downstream: Downstream) -> None:
        """Learn of an error that may name elicitations whose end will be told."""
        data = error.data if isinstance(error.data, dict) else {}
        asked = data.get("elicitations")
        for one in asked if isinstance(asked, list) else ():
            if isinstance(one, dict):
                self._remember(one, downstream)

    def withdraw_all(self, flight: Flight) -> None:
        """Ask no more on behalf of a request that is over."""
        self._questions.withdraw_all(flight)

    def _progress(self, params: Mapping[str, Any]) -> None:
        token, progress = as_request_id(params.get("progressToken")), params.get("progress")
        flight = None if token is None else self._flights.by_id(coerce_request_id(token))
        reached = _number(progress)
        if flight is None or flight.request.progress is None or reached is None:
            return
        message = params.get("message")
        report = partial(
            flight.request.progress,
            reached,
            _number(params.get("total")),
            message if isinstance(message, str) else None,
        )
        flight.tell(report, group=self._group, at_most=self._limits.max_news)

    def _message(self, params: Mapping[str, Any], related: RequestId | None) -> None:
        flight = self._questions.flight(related)
        if isinstance(flight, str):
            return
        downstream = flight.request.downstream
        if downstream.tell is None or not _is_wanted(params.get("level"), downstream.log_level):
            return
        tell = partial(downstream.tell, "notifications/message", params)
        flight.tell(tell, group=self._group, at_most=self._limits.max_news)

    def _updated(self, params: Mapping[str, Any]) -> None:
        uri = params.get("uri")
        if isinstance(uri, str) and not self.subscription(
            "notifications/resources/updated", params
        ):
            self._listeners.updated(uri)

    def _cancelled(self, params: Mapping[str, Any]) -> None:
        request_id = as_request_id(params.get("requestId"))
        if not self.subscription("notifications/cancelled", params) and request_id is not None:
            self._questions.withdraw(request_id)

    def _acknowledged(self, params: Mapping[str, Any]) -> None:
        self.subscription("notifications/subscriptions/acknowledged", params)

    def _remember(self, params: Mapping[str, Any], downstream: Downstream | None) -> None:
        elicitation = params.get("elicitationId")
        if isinstance(elicitation, str) and downstream is not None:
            self._out_of_band[elicitation] = downstream
            if len(self._out_of_band) > MAX_ELICITATIONS:
                self._out_of_band.popitem(last=False)

    def _complete(self, params: Mapping[str, Any]) -> None:
        elicitation = params.get("elicitationId")
        downstream = (
            self._out_of_band.pop(elicitation, None) if isinstance(elicitation, str) else None
        )
        if downstream is not None and downstream.tell is not None:
            self._group.create_task(
                _told(downstream, "notifications/elicitation/complete", params)
            )


async def _told(downstream: Downstream, method: str, params: Mapping[str, Any]) -> None:
    try:
        if downstream.tell is not None:
            await downstream.tell(method, params)
    except Exception:
        # The top of a task: a client that cannot be told must not end the connection.
        log.exception("a client could not be told of an elicitation")


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return None


def _is_wanted(level: Any, least: str | None) -> bool:
    return level in LEVELS and least in LEVELS and LEVELS.index(level) >= LEVELS.index(least)
