"""Stored discoveries: which servers are due, and the outcome of each attempt."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from gateway_project.foundation import notify
from tools.discovery_schedule import DiscoveryState, retry_delay
from tools.models import Server, ServerDiscovery
from tools.server_condition import ServerHistory

DISCOVERY_NOTICE = "discovery"
"""Payload of the notification that a discovery was requested."""


_CONDITION_FIELDS = (
    "name",
    "updated_at",
    "discovered_at",
    "discovery__server_updated_at",
    "discovery__requested_at",
    "discovery__retry_at",
)


@dataclass(frozen=True, kw_only=True)
class DiscoveryAttempt:
    """A running discovery.

    Attributes:
        server: Its name.
        version: Version of the server's row whose settings it uses.
        started_at: When it began.
    """

    server: str
    version: datetime
    started_at: datetime


def lock_name(server: str) -> str:
    """Return the name of the advisory lock held while a server is discovered."""
    return f"discover {server}"


def load_server_versions() -> dict[str, datetime]:
    """Return the version of each enabled server's row, by name."""
    return dict(Server.objects.filter(enabled=True).values_list("name", "updated_at"))


def load_states(names: Collection[str] | None = None) -> dict[str, DiscoveryState]:
    """Return the discovery state of each enabled server, by name.

    Args:
        names: Only these; None: all.
    """
    # Only the needed columns: servers' output is up to 64 kB each, and this is read often.
    servers = (
        Server.objects.filter(enabled=True).select_related("discovery").only(*_CONDITION_FIELDS)
    )
    if names is not None:
        servers = servers.filter(name__in=names)
    return {server.name: _make_state(server) for server in servers}


def _make_state(server: Server) -> DiscoveryState:
    row: ServerDiscovery | None = getattr(server, "discovery", None)
    if row is None or row.server_updated_at is None:
        # Discovered before attempts were recorded.
        is_current = server.discovered_at is not None and server.discovered_at >= server.updated_at
        requested_at = row.requested_at if row else None
        return DiscoveryState(
            version=server.updated_at, is_outdated=not is_current, requested_at=requested_at
        )
    return DiscoveryState(
        version=server.updated_at,
        is_outdated=row.server_updated_at != server.updated_at,
        requested_at=row.requested_at,
        retry_at=row.retry_at,
    )


def begin_attempt(server: str, *, version: datetime, at: datetime) -> DiscoveryAttempt | None:
    """Record the begin of a discovery; it stays due until its end, in case it is interrupted.

    Returns:
        None if the server no longer exists.
    """
    pk = Server.objects.filter(name=server).values_list("pk", flat=True).first()
    if pk is None:
        return None
    ServerDiscovery.objects.update_or_create(server_id=pk, defaults={"started_at": at})
    notify.send_notification(notify.SERVER_STATUS, server)
    return DiscoveryAttempt(server=server, version=version, started_at=at)


def finish_attempt(attempt: DiscoveryAttempt, *, error_code: str, at: datetime) -> None:
    """Record the end of a discovery, and schedule the retry of a failed one.

    Args:
        attempt: From `begin_attempt`.
        error_code: Code of the error; empty: it succeeded.
        at: When it ended.
    """
    with transaction.atomic():
        rows = _discovery_rows([attempt.server]).select_for_update(of=("self",))
        row = rows.first()
        if row is None:
            return
        if row.server_updated_at != attempt.version:
            row.failures, row.failing_since = 0, None  # those were of other settings
        row.server_updated_at = attempt.version
        row.started_at, row.ended_at = None, at
        if row.requested_at is not None and row.requested_at <= attempt.started_at:
            row.requested_at = None
        row.error_code = error_code
        if error_code:
            row.failures += 1
            row.failing_since = row.failing_since or at
            row.retry_at = at + retry_delay(row.failures, draw=random.random())  # noqa: S311
        else:
            row.failures, row.failing_since, row.retry_at = 0, None, None
        row.save()
        notify.send_notification(notify.SERVER_STATUS, attempt.server)


def abandon_attempt(attempt: DiscoveryAttempt) -> None:
    """Record that a discovery was interrupted; it stays due."""
    rows = _discovery_rows([attempt.server]).filter(started_at=attempt.started_at)
    rows.update(started_at=None)


def request_discovery(names: Iterable[str], *, at: datetime) -> tuple[str, ...]:
    """Request the discovery of enabled servers by any running process, and notify them.

    Returns:
        Names of the servers that will be discovered.
    """
    with transaction.atomic():
        servers = list(Server.objects.filter(name__in=list(names), enabled=True).order_by("name"))
        for server in servers:
            ServerDiscovery.objects.update_or_create(server=server, defaults={"requested_at": at})
        if servers:
            notify.send_notification(notify.CATALOGUE, DISCOVERY_NOTICE)
    return tuple(server.name for server in servers)


def make_server_history(server: Server) -> ServerHistory:
    """Return the recorded history of a server; load its discovery with it."""
    row: ServerDiscovery | None = getattr(server, "discovery", None)
    return ServerHistory(
        enabled=server.enabled,
        last_error=server.last_error,
        last_error_at=server.last_error_at,
        discovered_at=server.discovered_at,
        last_connected_at=server.last_connected_at,
        started_at=row.started_at if row else None,
        requested_at=row.requested_at if row else None,
        failing_since=row.failing_since if row else None,
        retry_at=row.retry_at if row else None,
        error_code=row.error_code if row else "",
    )


def _discovery_rows(names: Collection[str]) -> QuerySet[ServerDiscovery]:
    return ServerDiscovery.objects.filter(server__name__in=names)
