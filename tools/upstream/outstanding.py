"""Requests a server has not answered yet, as seen on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RequestId = int | str

# Answered when a subscription ends, or by nobody: a broken line is not their answer.
_OPEN_ENDED = frozenset({"subscriptions/listen", "server/discover"})


class Outstanding:
    """Knows which requests wait for an answer, and whether a nameless answer has one owner."""

    def __init__(self) -> None:
        self._methods: dict[RequestId, str] = {}

    def sent(self, request_id: RequestId, method: str) -> None:
        """Note a request on its way."""
        self._methods[_key(request_id)] = method

    def cancelled(self, params: Mapping[str, Any] | None) -> None:
        """Note that a `notifications/cancelled` is on its way."""
        request_id = (params or {}).get("requestId")
        if isinstance(request_id, int | str):
            self.answered(request_id)

    def answered(self, request_id: RequestId | None) -> str | None:
        """Forget a request and return its method, None if it was not waiting."""
        return None if request_id is None else self._methods.pop(_key(request_id), None)

    def owner(self, request_id: RequestId | None) -> RequestId | None:
        """Return the waiting request that an unusable answer belongs to.

        That is the one it names; an answer that names none belongs to the only one waiting.
        """
        if request_id is not None:
            key = _key(request_id)
            return key if key in self._methods else None
        waiting = [key for key, method in self._methods.items() if method not in _OPEN_ENDED]
        return waiting[0] if len(waiting) == 1 else None


def _key(request_id: RequestId) -> RequestId:
    """Treat "7" and 7 as one id, as the SDK does: some servers answer with the string."""
    try:
        return int(request_id)
    except ValueError:
        return request_id
