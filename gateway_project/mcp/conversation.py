"""What must be known of a client's conversation to go on with it at another gateway.

Imports the standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

RESUME_ID: Final = "foregate/resume/"
"""Begins the ids of requests that are repeated to the next gateway; the client sees no answer."""
INTERNAL_ERROR: Final = -32603
_LOST: Final = (
    "the gateway that served this request ended before it answered; whatever was called may have "
    "had its effect, so look before calling again"
)
_CODE: Final = "gateway_lost"
# A response as our own gateways write it; anything else is parsed whole.
_RESPONSE: Final = re.compile(
    rb'\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),"(?:result|error)"'
)


@dataclass(frozen=True, kw_only=True)
class Prelude:
    """What the next gateway is told before the client goes on.

    Attributes:
        lines: Requests and notifications to be repeated, each a line.
        unsent: What the client has sent since, bytes that may end within a line.
    """

    lines: tuple[bytes, ...] = ()
    unsent: bytes = b""


def is_repeated(identifier: Any) -> bool:
    """Whether a response answers a request of a prelude, so that the client must not see it."""
    return isinstance(identifier, str) and identifier.startswith(RESUME_ID)


def response_id(line: bytes) -> Any:
    """Return the id that a line answers; None if it answers none."""
    found = _RESPONSE.match(line)
    if found:
        return json.loads(found[1])
    message = _parsed(line)
    answers = "method" not in message and ("result" in message or "error" in message)
    return message.get("id") if answers else None


class Conversation:
    """Follows the lines between a client and the gateway it is attached to."""

    def __init__(self) -> None:
        self._pending: dict[tuple[type, Any], str] = {}
        self._opening: list[dict[str, Any]] = []
        self._level: dict[str, Any] | None = None
        self._subscribed: dict[str, dict[str, Any]] = {}

    def sent(self, line: bytes) -> None:
        """Take note of a line of the client's."""
        message = _parsed(line)
        method = message.get("method")
        if not isinstance(method, str):
            return
        if "id" in message:
            self._pending[_key(message["id"])] = method
        self._remember(method, message)

    def answered(self, identifier: Any) -> None:
        """Take note that a request is answered; None is none."""
        self._pending.pop(_key(identifier), None)

    def interrupted(self) -> Iterator[bytes]:
        """Return an answer for each request that will have none any more."""
        for (_, identifier), method in self._pending.items():
            yield _line({"jsonrpc": "2.0", "id": identifier, **_failure(method)})
        self._pending.clear()

    def repeated(self) -> tuple[bytes, ...]:
        """Return what brings another gateway to where this conversation is."""
        kept = [
            *self._opening,
            *([self._level] if self._level else []),
            *self._subscribed.values(),
        ]
        return tuple(
            _line({**message, "id": f"{RESUME_ID}{index}"} if "id" in message else message)
            for index, message in enumerate(kept)
        )

    def _remember(self, method: str, message: dict[str, Any]) -> None:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        match method:
            case "initialize":
                self._opening = [message]
            case "notifications/initialized":
                self._opening = [*self._opening[:1], message]
            case "notifications/cancelled":
                self._pending.pop(_key(params.get("requestId")), None)
            case "logging/setLevel":
                self._level = message
            case "resources/subscribe":
                self._subscribed[str(params.get("uri"))] = message
            case "resources/unsubscribe":
                self._subscribed.pop(str(params.get("uri")), None)


def _key(identifier: Any) -> tuple[type, Any]:
    """Tell 1 from "1", which are two ids, and bear what is none."""
    hashable = isinstance(identifier, str | int)
    return type(identifier), identifier if hashable else str(identifier)


def _failure(method: str) -> Mapping[str, Any]:
    if method != "tools/call":
        return {"error": {"code": INTERNAL_ERROR, "message": _LOST}}
    text = f"{_CODE}: {_LOST}"
    return {
        "result": {
            "content": [{"type": "text", "text": text}],
            "isError": True,
            "resultType": "complete",
            "_meta": {"foregate/error": {"code": _CODE}},
        }
    }


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _line(message: Mapping[str, Any]) -> bytes:
    # With escapes, among them those of half a surrogate pair, which a client may have sent.
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
