"""Requests that a server has not answered yet, as seen by the transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RequestId = int | str

# Answered when a subscription ends, or never: a broken line is not their answer.
_OPEN_ENDED = frozenset({"subscriptions/listen", "server/discover"})


class OutstandingRequests:
    """Tracks unanswered requests, and attributes answers without an id to them."""

    def __init__(self) -> None:
        self._sent: dict[RequestId, tuple[str, int]] = {}  # method, notifications sent before
        self._notifications = self._read_notifications = 0

    def mark_sent(self, request_id: RequestId, method: str) -> None:
        """Record a request as sent."""
        self._sent[_normalize_id(request_id)] = (method, self._notifications)

    def mark_notified(self, params: Mapping[str, Any] | None) -> None:
        """Record a notification as sent, and forget the request that it cancels."""
        self._notifications += 1
        request_id = (params or {}).get("requestId")
        if isinstance(request_id, int | str):
            self._sent.pop(_normalize_id(request_id), None)

    def mark_answered(self, request_id: RequestId | None) -> str | None:
        """Forget a request and return its method; None if it was not outstanding."""
        sent = None if request_id is None else self._sent.pop(_normalize_id(request_id), None)
        if sent is None:
            return None
        method, notifications = sent
        self._read_notifications = max(self._read_notifications, notifications)
        return method

    def claim_notification(self) -> bool:
        """Whether an answer without an id may be one to a notification, as some servers send.

        Such an answer precedes those to all that was sent after the notification.
        """
        if self._read_notifications >= self._notifications:
            return False
        self._read_notifications += 1
        return True

    def find_owner(self, request_id: RequestId | None) -> RequestId | None:
        """Return the outstanding request that an unusable answer belongs to.

        Without an id, an answer belongs to the only outstanding request, if there is just one.
        """
        if request_id is not None:
            key = _normalize_id(request_id)
            return key if key in self._sent else None
        waiting = [key for key, (method, _) in self._sent.items() if method not in _OPEN_ENDED]
        return waiting[0] if len(waiting) == 1 else None


def _normalize_id(request_id: RequestId) -> RequestId:
    """Map "7" and 7 to one id, as the SDK does: some servers answer with the string."""
    try:
        return int(request_id)
    except ValueError:
        return request_id
