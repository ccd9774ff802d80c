"""Deletes what access keeps for a while: answered requests, OAuth clients and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.sessions.models import Session
from django.utils import timezone
from oauth2_provider.models import clear_expired

from gateway_project.access import idempotent_requests, oauth_tokens


@dataclass(frozen=True, kw_only=True)
class AccessCounts:
    """Counts of what was, or would be, deleted.

    Attributes:
        requests: Requests with an idempotency key.
        clients: OAuth clients that nobody authorized.
    """

    requests: int
    clients: int


def count_old() -> AccessCounts:
    """Count what is no longer kept."""
    return AccessCounts(
        requests=idempotent_requests.select_expired().count(),
        clients=oauth_tokens.select_unused_clients().count(),
    )


def delete_old() -> AccessCounts:
    """Delete what is no longer kept, expired OAuth tokens and sessions too; return counts."""
    counts = count_old()
    idempotent_requests.select_expired().delete()
    clear_expired()
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    oauth_tokens.select_unused_clients().delete()
    return counts
