"""Requests that name an `Idempotency-Key`: made once, answered alike as often as repeated.

The row of a request is written before it is served and its response after it, so that a request
that was interrupted in the middle is never made again by accident: its outcome is unknown, and the
error says so.

References:
    IETF draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.models import IdempotentRequest

HEADER: Final = "Idempotency-Key"
MAX_KEY_CHARS: Final = 200
KEPT: Final = timedelta(hours=24)
MAX_STORED_BYTES: Final = 1_048_576
"""Larger responses are not repeated; their status is."""
KEPT_HEADERS: Final = ("Content-Type", "Location")
RETRIED_STATUSES: Final = frozenset({401, 403, 408, 429, 503})
"""Statuses of requests that changed nothing and may be made again with the same key."""


class IdempotencyError(Exception):
    """A request with an idempotency key cannot be served.

    Attributes:
        code: Stable code, listed in docs/errors.md.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class StoredResponse:
    """The response to the first request with a key.

    Attributes:
        status: Of HTTP.
        content: Its body; empty if it was not to be stored, or too large.
        headers: Those of `KEPT_HEADERS` that it had.
    """

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def begin_request(
    caller: Caller, path: str, key: str, body: bytes, *, sealer: Sealer
) -> int | StoredResponse:
    """Record that a request begins; return its row, or the response to the first one.

    Raises:
        IdempotencyError: If the key is empty or too long, was used for another request, or the
            first request with it is still being served or was interrupted.
    """
    if not 1 <= len(key) <= MAX_KEY_CHARS:
        message = f"{HEADER}: give 1 to {MAX_KEY_CHARS} characters"
        raise IdempotencyError("invalid_arguments", message)
    whose = (caller.user, str(caller.team), *((caller.group,) if caller.group else ()))
    digest = _digest("\x00".join((*whose, path, key)).encode())
    request_digest = _digest(body)
    select_expired().filter(digest=digest).delete()
    try:
        with transaction.atomic():
            return IdempotentRequest.objects.create(
                digest=digest, request_digest=request_digest
            ).pk
    except IntegrityError:
        row = IdempotentRequest.objects.filter(digest=digest).first()
    if row is not None and row.request_digest != request_digest:
        message = f"this {HEADER} was used for another request within 24 hours; use another one"
        raise IdempotencyError("idempotency_conflict", message)
    if row is None or row.status is None:
        message = (
            "the first request with this key is still being served, or was interrupted: look "
            "whether it had its effect, then use another key"
        )
        raise IdempotencyError("request_in_progress", message)
    if not row.content:
        return StoredResponse(status=row.status)
    headers, _, content = sealer.unseal_bytes(bytes(row.content)).partition(b"\n")
    return StoredResponse(status=row.status, content=content, headers=json.loads(headers))


def finish_request(pk: int, response: StoredResponse, *, sealer: Sealer) -> None:
    """Record the response to a request, or forget the request if it may be made again."""
    row = IdempotentRequest.objects.filter(pk=pk)
    if response.status in RETRIED_STATUSES:
        row.delete()
        return
    kept = None
    if response.content and len(response.content) <= MAX_STORED_BYTES:
        headers = json.dumps(dict(response.headers)).encode()
        kept = sealer.seal_bytes(headers + b"\n" + response.content)
    row.update(status=response.status, content=kept)


def select_expired() -> QuerySet[IdempotentRequest]:
    """Return the requests whose keys are no longer kept."""
    return IdempotentRequest.objects.filter(created_at__lt=timezone.now() - KEPT)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
