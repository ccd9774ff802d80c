"""Summaries of servers and tools, and memberships of users."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, Q, Sum
from django.utils import timezone

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tools import ids
from tools.models import Membership, Server, Team, Tool
from tools.server_condition import (
    WITHHELD_ERROR,
    ServerConditionWord,
    judge_condition,
    limit_error,
)
from tools.store import discoveries, teams


@dataclass(frozen=True, kw_only=True)
class ServerSummary:
    """A server with counts of its tools and its recorded history.

    All times are recorded facts; none describes what the server is doing right now.

    Attributes:
        pk: Primary key.
        name: First half of its tools' ids.
        enabled: Whether it may be used.
        trusted: Whether a person trusts its annotations.
        usable: Number of tools that can be found and called.
        quarantined: Number of tools that changed since they were approved.
        pending: Number of tools that were never approved.
        discovered_at: When its tools were last listed.
        last_connected_at: When it last answered.
        last_error: The last error since it last answered; empty if there was none.
        last_error_at: When the last error occurred.
        state: Its condition in words; see `tools.server_condition`.
        failing_since: Since when it is failing.
        retry_at: When it is contacted again automatically.
        last_output: Its output before the current error, oldest line first; empty unless
            requested.
        team_pk: Primary key of the team it belongs to; None: it is shared.
        team: Name of that team.
    """

    pk: int
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
    state: ServerConditionWord
    failing_since: datetime | None
    retry_at: datetime | None
    last_output: tuple[str, ...] = ()
    team_pk: int | None = None
    team: str | None = None

    def limit_to(self, caller: Caller) -> ServerSummary:
        """Return what a caller may know.

        That a sign-in is needed concerns everybody.
        """
        public = self.last_error if self.state == "sign-in needed" else WITHHELD_ERROR
        output = self.last_output if caller.has_scope(SCOPE_ALL) else ()
        error = limit_error(self.last_error, caller, public=public)
        return replace(self, last_error=error, last_output=output)


@dataclass(frozen=True, kw_only=True)
class TeamName:
    """A team that a user belongs to."""

    pk: int
    name: str


@dataclass(frozen=True, kw_only=True)
class UserTeams:
    """The teams of a user.

    Attributes:
        person: Primary key of their private team; None: there is no such user.
        own: Those that they belong to, by name.
        are_used: Whether there is any team at all.
    """

    person: int | None
    own: tuple[TeamName, ...] = ()
    are_used: bool = True

    def choose(self, wanted: object = None) -> int | None:
        """Return the key of the only team, or of the wanted one; None if it is none of them."""
        keys = [team.pk for team in self.own]
        return keys[0] if len(keys) == 1 else next((key for key in keys if key == wanted), None)


def load_server_summaries(
    *, names: Iterable[str] | None = None, with_output: bool = False
) -> tuple[ServerSummary, ...]:
    """Return servers by name; one query.

    Args:
        names: Only these; None: all.
        with_output: Whether to load the output before each one's error, up to 64 kB each.
    """
    now = timezone.now()
    usable = Q(tools__state=Tool.State.ACTIVE, tools__enabled=True)
    rows = (
        Server.objects.select_related("discovery", "team")
        .order_by("name")
        .annotate(
            usable=Count("tools", filter=usable),
            quarantined=Count("tools", filter=Q(tools__state=Tool.State.QUARANTINED)),
            pending=Count("tools", filter=Q(tools__state=Tool.State.PENDING)),
        )
    )
    if names is not None:
        rows = rows.filter(name__in=list(names))
    if not with_output:
        rows = rows.defer("last_output")
    return tuple(_make_summary(row, now, with_output=with_output) for row in rows)


def load_visible_summaries(
    caller: Caller, *, names: Iterable[str] | None = None, with_output: bool = False
) -> tuple[ServerSummary, ...]:
    """Return the servers that a caller may know of, by name: superusers know of all.

    Args:
        caller: The viewer.
        names: Only these; None: all.
        with_output: As in `load_server_summaries`.
    """
    return tuple(
        server.limit_to(caller)
        for server in load_server_summaries(names=names, with_output=with_output)
        if caller.has_scope(SCOPE_ALL) or caller.can_see_team(server.team_pk)
    )


def _make_summary(row: Any, now: datetime, *, with_output: bool) -> ServerSummary:
    history = discoveries.make_server_history(row)
    condition = judge_condition(history, now=now)
    return ServerSummary(
        pk=row.pk,
        name=row.name,
        enabled=row.enabled,
        trusted=row.trusted,
        usable=row.usable,
        quarantined=row.quarantined,
        pending=row.pending,
        discovered_at=row.discovered_at,
        last_connected_at=row.last_connected_at,
        last_error=row.last_error if history.has_failed else "",
        last_error_at=row.last_error_at,
        state=condition.word,
        failing_since=condition.since if condition.reason else None,
        retry_at=condition.retry_at,
        last_output=tuple(row.last_output) if with_output and history.has_failed else (),
        team_pk=row.team_id,
        team=row.team.name if row.team else None,
    )


def count_usable_tools() -> int:
    """Count the usable tools."""
    return Tool.objects.filter(enabled=True, state=Tool.State.ACTIVE, server__enabled=True).count()


def count_unapproved_tools(*, team: int | None, is_all: bool, most: int) -> int:
    """Count the tools whose definitions wait for approval, up to a limit.

    Args:
        team: Whose servers count beside the shared ones.
        is_all: Whether the servers of all teams count.
        most: Where counting ends.
    """
    waiting = Tool.objects.filter(state__in=(Tool.State.PENDING, Tool.State.QUARANTINED))
    return waiting.filter(_visible_to("server__", team, is_all=is_all))[:most].count()


def sum_definition_tokens(*, team: int | None, is_all: bool) -> tuple[int, int]:
    """Return the number of usable tools and the tokens of their definitions.

    Args:
        team: As in `count_unapproved_tools`.
        is_all: As in `count_unapproved_tools`.
    """
    rows = Tool.objects.filter(
        _visible_to("server__", team, is_all=is_all),
        enabled=True,
        state=Tool.State.ACTIVE,
        server__enabled=True,
    )
    found = rows.aggregate(tools=Count("pk"), tokens=Sum("definition__token_count"))
    return found["tools"], found["tokens"] or 0


def find_server_names(text: str, *, team: int | None, is_all: bool, most: int) -> list[str]:
    """Return names of visible servers that contain a text, by name.

    Args:
        text: Of any case.
        team: As in `count_unapproved_tools`.
        is_all: As in `count_unapproved_tools`.
        most: Maximum count.
    """
    rows = Server.objects.filter(_visible_to("", team, is_all=is_all), name__icontains=text)
    return list(rows.order_by("name").values_list("name", flat=True)[:most])


def find_tool_ids(text: str, *, team: int | None, most: int) -> list[str]:
    """Return ids of listed tools of visible servers whose names contain a text, by name.

    Args:
        text: Of any case.
        team: As in `count_unapproved_tools`.
        most: Maximum count.
    """
    visible = _visible_to("server__", team, is_all=False)
    rows = Tool.objects.filter(visible, name__icontains=text).exclude(state=Tool.State.REMOVED)
    found = rows.order_by("name", "server__name").values_list("server__name", "name")[:most]
    return [ids.join_id(server, name) for server, name in found]


def _visible_to(prefix: str, team: int | None, *, is_all: bool) -> Q:
    if is_all:
        return Q()
    return Q(**{f"{prefix}team": None}) | Q(**{f"{prefix}team": team})


def load_tool_names(servers: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the names of servers' stored tools, by server."""
    listed = Tool.objects.filter(server__name__in=list(servers)).exclude(state=Tool.State.REMOVED)
    found: dict[str, set[str]] = {}
    for server, tool in listed.values_list("server__name", "name"):
        found.setdefault(server, set()).add(tool)
    return {server: frozenset(tools) for server, tools in found.items()}


def list_server_names(*, but_from: Iterable[str] = ()) -> frozenset[str]:
    """Return the names of the registered servers, except those from some sources."""
    rows = Server.objects.exclude(source__in=list(but_from))
    return frozenset(rows.values_list("name", flat=True))


def load_teams(username: str) -> UserTeams:
    """Return the teams of a user; one query."""
    users = get_user_model().objects.filter(username=username)
    rows = users.order_by("memberships__team__name").values_list(
        "memberships__team_id", "memberships__team__name", "private_team__pk", teams.exist()
    )
    found = list(rows)  # one row without a team if there is none
    return UserTeams(
        person=found[0][2] if found else None,
        own=tuple(TeamName(pk=pk, name=name) for pk, name, *_ in found if pk is not None),
        are_used=all(are_used for *_, are_used in found),
    )


def ensure_member(username: str, team: str) -> None:
    """Make a user a member of a team, which is created if there is none of that name."""
    user = get_user_model().objects.get(username=username)
    Membership.objects.get_or_create(user=user, team=Team.objects.get_or_create(name=team)[0])


def set_memberships(username: str, wanted: Mapping[str, str], *, among: Collection[str]) -> bool:
    """Give a user exactly the wanted memberships among some teams; return whether any changed.

    Args:
        username: The user.
        wanted: Role in each team, by the team's name; missing teams are created.
        among: Names of the teams that are decided here; memberships in others stay.
    """
    user = get_user_model().objects.get(username=username)
    rows = Membership.objects.filter(user=user, team__name__in=among).select_related("team")
    held = {row.team.name: row for row in rows}
    if {name: row.role for name, row in held.items()} == dict(wanted):
        return False
    for name in held.keys() - wanted.keys():
        held[name].delete()
    for name, role in wanted.items():
        team, _ = Team.objects.get_or_create(name=name)
        Membership.objects.update_or_create(user=user, team=team, defaults={"role": role})
    return True


def is_member(username: str, team: int) -> bool:
    """Whether a user belongs to a team."""
    return Membership.objects.filter(user__username=username, team=team).exists()


def load_administered_teams(username: str) -> frozenset[int]:
    """Return the primary keys of the teams that a user administers."""
    found = Membership.objects.filter(user__username=username, role=Membership.Role.ADMIN)
    return frozenset(found.values_list("team_id", flat=True))
