"""What is sent about an event, and its signature.

References:
    RFC 2104, HMAC: Keyed-Hashing for Message Authentication.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from gateway_project.foundation.text import strip_invisible
from gateway_project.webhook_events import WebhookEvent

TIMESTAMP_HEADER: Final = "Foregate-Timestamp"
SIGNATURE_HEADER: Final = "Foregate-Signature"
EVENT_HEADER: Final = "Foregate-Event"
DELIVERY_HEADER: Final = "Foregate-Delivery"
SIGNATURE_PREFIX: Final = "sha256="
MAIL_SCHEME: Final = "mailto:"

FIRST_RETRY: Final = timedelta(seconds=10)
MAX_RETRY: Final = timedelta(hours=1)
GIVE_UP_AFTER: Final = timedelta(days=1)
"""Age of an event after which it is not sent any more."""


@dataclass(frozen=True, kw_only=True)
class WebhookMessage:
    """A message to be sent once more, or for the first time.

    Attributes:
        id: Of the delivery; the same at every attempt.
        url: Where to: http, https or mailto.
        secret: Key of its signature; empty: no key opens the stored one.
        event: What happened.
        data: Ids, names and reasons; no arguments and no results.
        occurred_at: When it happened.
        attempt: Number of this attempt, from 1.
    """

    id: int
    url: str
    secret: str = field(repr=False)
    event: WebhookEvent
    data: Mapping[str, Any]
    occurred_at: datetime
    attempt: int

    @property
    def is_mail(self) -> bool:
        """Whether it is sent by mail."""
        return self.url.startswith(MAIL_SCHEME)

    @property
    def title(self) -> str:
        """What happened, in one line."""
        title = self.event.headline.format_map(self.data)
        return " ".join(strip_invisible(title).split())

    def build_body(self, console: str) -> bytes:
        """Return the JSON that is sent.

        Args:
            console: URL of the console, for the link.
        """
        value = {
            "id": str(self.id),
            "event": self.event.value,
            "occurred_at": self.occurred_at.isoformat(),
            "title": self.title,
            "link": self.build_link(console),
            "data": dict(self.data),
        }
        return json.dumps(value, separators=(",", ":")).encode()

    def build_link(self, console: str) -> str:
        """Return the URL of the page of the console about it."""
        return console + self.event.page.format_map(self.data)


def sign_body(secret: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a body: HMAC-SHA256 over `TIMESTAMP.BODY`.

    Example:
        >>> sign_body("key", 1, b"{}")[:23]
        'sha256=1ba6b8171186efc6'
    """
    signed = f"{timestamp}.".encode() + body
    return SIGNATURE_PREFIX + hmac.digest(secret.encode(), signed, hashlib.sha256).hex()


def build_headers(message: WebhookMessage, body: bytes, *, timestamp: int) -> dict[str, str]:
    """Return the headers of a signed request."""
    return {
        "Content-Type": "application/json",
        EVENT_HEADER: message.event.value,
        DELIVERY_HEADER: str(message.id),
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: sign_body(message.secret, timestamp, body),
    }


def find_next_attempt(occurred_at: datetime, attempts: int, *, at: datetime) -> datetime | None:
    """Return when to try again after a failure; None: not any more.

    The wait doubles from `FIRST_RETRY` to `MAX_RETRY`.

    Args:
        occurred_at: When the event happened.
        attempts: Number of attempts so far.
        at: Time of the failure.

    Example:
        >>> from datetime import UTC
        >>> at = datetime(2026, 1, 1, tzinfo=UTC)
        >>> [(find_next_attempt(at, n, at=at) - at).total_seconds() for n in (1, 2, 3, 20)]
        [10.0, 20.0, 40.0, 3600.0]
        >>> find_next_attempt(at, 1, at=at + GIVE_UP_AFTER)
    """
    doublings = min(attempts - 1, 10)
    next_at = at + min(FIRST_RETRY * 2**doublings, MAX_RETRY)
    return next_at if next_at <= occurred_at + GIVE_UP_AFTER else None
