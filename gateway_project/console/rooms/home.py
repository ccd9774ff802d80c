"""The home page: is all well, what was gained, what waits; or the next step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import cache, partial
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.utils import timezone

from execution.status import RunStatus
from execution.store import views
from execution.view import RunFilter
from gateway_project.access import one_time_password
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation import exposure_setting
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.mcp import meta_tools
from gateway_project.use_cases.decide_approval import load_approver
from learning import report
from learning.report import Activity
from tools import token_count
from tools.store import overview
from tools.store.overview import ServerSummary

DAYS: Final = 7
MAX_RUNS: Final = 8
MAX_UNRESOLVED: Final = 100
"""Runs of unknown outcome that are counted."""
MAX_TROUBLED: Final = 6
TROUBLES: Final = frozenset({"failing", "sign-in needed"})
HEALTHY: Final = frozenset({"up", "starting"})


@room("", "home")
def show_home(request: RoomRequest) -> HttpResponse:
    """Show the state of the installation."""
    caller, now = request.caller, timezone.now()
    sees_all = caller.has_scope(SCOPE_ALL)
    servers = overview.load_visible_summaries(caller)
    troubled = [server for server in servers if server.state in TROUBLES]
    activity = report.build_activity(caller.owner, days=DAYS, at=now, is_all=sees_all)
    load_runs = partial(
        views.load_summaries, None if sees_all else caller, teams=load_approver(caller).teams
    )
    unresolved = len(load_runs(wanted=RunFilter(status=RunStatus.UNKNOWN), limit=MAX_UNRESOLVED))
    return render_room(
        request,
        "console/home.html",
        title="Home",
        needs_password=_signed_in_once(request),
        verdict=describe_health(servers, unresolved=unresolved),
        unresolved=unresolved,
        troubled=troubled[:MAX_TROUBLED],
        more_troubled=max(0, len(troubled) - MAX_TROUBLED),
        has_servers=bool(servers),
        activity=activity,
        saved_s=activity.saved_ahead_s + activity.saved_parallel_s,
        today=find_today(activity, now),
        chart=make_chart(activity, now.date()),
        saving=load_saving(caller),
        runs=load_runs(limit=MAX_RUNS),
        may_add_servers=sees_all,
    )


def _signed_in_once(request: RoomRequest) -> bool:
    """Whether the person signed in with a one-time password and has no lasting one."""
    backend = request.session.get(BACKEND_SESSION_KEY, "")
    if backend != one_time_password.BACKEND:
        return False
    return isinstance(request.user, User) and not request.user.has_usable_password()


def describe_health(servers: Sequence[ServerSummary], *, unresolved: int) -> dict[str, Any]:
    """Return the health of the installation in words and as a state of a badge.

    Args:
        servers: Those that the viewer sees.
        unresolved: Runs with calls of unknown outcome.
    """
    enabled = [server for server in servers if server.enabled]
    troubled = [server for server in enabled if server.state in TROUBLES]
    well = [server for server in enabled if server.state in HEALTHY]
    if not enabled:
        return {"state": "muted", "word": "No servers", "up": 0, "troubled": 0, "other": 0}
    state, word = ("warn", "Needs attention") if troubled or unresolved else ("ok", "All is well")
    if troubled and not well:
        state, word = "bad", "No server answers"
    return {
        "state": state,
        "word": word,
        "up": len(well),
        "troubled": len(troubled),
        "other": len(enabled) - len(well) - len(troubled),
    }


def find_today(activity: Activity, now: datetime) -> dict[str, Any]:
    """Return today's calls; zeros if there were none."""
    for day in activity.days:
        if day.day == now.date():
            return day._asdict()
    return {"day": now.date(), "calls": 0, "errors": 0, "p95_ms": None}


def make_chart(activity: Activity, today: date) -> dict[str, list[Any]]:
    """Return calls, errors and durations of the last days, each day of them, for the charts."""
    counts = {one.day: one for one in activity.days}
    days = [today - timedelta(days=ago) for ago in reversed(range(DAYS))]
    found = [counts.get(day) for day in days]
    return {
        "days": [day.isoformat() for day in days],
        "calls": [one.calls if one else 0 for one in found],
        "errors": [one.errors if one else 0 for one in found],
        "p95_ms": [round(one.p95_ms) if one and one.p95_ms is not None else None for one in found],
    }


def load_saving(caller: Caller) -> dict[str, int]:
    """Return the tokens of tools that a client of the caller need not read in a conversation."""
    tools, listed = overview.sum_definition_tokens(
        team=caller.team, is_all=caller.has_scope(SCOPE_ALL)
    )
    exposure = exposure_setting.read_setting(settings.FOREGATE.exposure).default
    shown = listed if exposure == "full" else _count_own_tokens()
    saved = max(0, listed - shown)
    return {"tools": tools, "listed": listed, "shown": shown, "saved": saved}


@cache
def _count_own_tokens() -> int:
    return sum(
        token_count.count_definition(tool.name, tool.description, tool.input_schema)
        for tool in meta_tools.TOOLS.values()
    )
