"""Servers and tools in figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from tools.models import Membership, Server, Tool

MAX_TEAMS_LOOKED_AT = 2


@dataclass(frozen=True, kw_only=True)
class ServerSummary:
    """A server with its tools and what is known of its past.

    The times are facts, each with its own clock reading; nothing here claims what the server is
    doing at this moment.

    Attributes:
        name: First half of its tools' ids.
        enabled: Whether it may be used.
        trusted: Whether a person trusts its annotations.
        usable: Number of tools that can be found and called.
        quarantined: Number of tools that changed since they were approved.
        pending: Number of tools that were never approved.
        discovered_at: When its tools were last listed.
        last_connected_at: When it last answered.
        last_error: What went wrong since it last answered; empty if nothing did.
        last_error_at: When something last went wrong.
    """

    name: str
    enabled: bool
    trusted: bool
    usable: int
    quarantined: int
    pending: int
    discovered_at: datetime | None
    last_connected_at: datetime | None
    last_error: str
    last_error_at: datetime | None


def servers() -> tuple[ServerSummary, ...]:
    """Return all servers by name; one query."""
    usable = Q(tools__state=Tool.State.ACTIVE, tools__enabled=True)
    rows = Server.objects.order_by("name").annotate(
        usable=Count("tools", filter=usable),
        quarantined=Count("tools", filter=Q(tools__state=Tool.State.QUARANTINED)),
        pending=Count("tools", filter=Q(tools__state=Tool.State.PENDING)),
    )
    return tuple(_summary(row) for row in rows)


def _summary(row: Any) -> ServerSummary:
    return ServerSummary(
        name=row.name,
        enabled=row.enabled,
        trusted=row.trusted,
        usable=row.usable,
        quarantined=row.quarantined,
        pending=row.pending,
        discovered_at=row.discovered_at,
        last_connected_at=row.last_connected_at,
        last_error=row.last_error if _error_stands(row) else "",
        last_error_at=row.last_error_at,
    )


def _error_stands(server: Server) -> bool:
    """Whether nothing has gone well since the last error."""
    failed_at = server.last_error_at
    if failed_at is None:
        return False
    successes = (server.discovered_at, server.last_connected_at)
    return all(at is None or at < failed_at for at in successes)


def usable_tools() -> int:
    """Count the tools that can be found and called."""
    return Tool.objects.filter(enabled=True, state=Tool.State.ACTIVE, server__enabled=True).count()


def names(*, but_from: Iterable[str] = ()) -> frozenset[str]:
    """Return the names of the registered servers, those of some sources left out."""
    rows = Server.objects.exclude(source__in=list(but_from))
    return frozenset(rows.values_list("name", flat=True))


def only_team_of(username: str) -> int | None:
    """Return the primary key of a user's team if there is exactly one."""
    found = Membership.objects.filter(user__username=username).values_list("team_id", flat=True)
    teams = list(found[:MAX_TEAMS_LOOKED_AT])
    return teams[0] if len(teams) == 1 else None


def is_member(username: str, team: int) -> bool:
    """Whether a user belongs to a team."""
    return Membership.objects.filter(user__username=username, team=team).exists()


def administered_by(username: str) -> frozenset[int]:
    """Return the primary keys of the teams that a user is an admin of."""
    found = Membership.objects.filter(user__username=username, role=Membership.Role.ADMIN)
    return frozenset(found.values_list("team_id", flat=True))
