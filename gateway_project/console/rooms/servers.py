"""Servers: which there are and how they do, and one server with all that can be done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import nan
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from gateway_project.access.roles import READ, require_scope
from gateway_project.api import runtime
from gateway_project.console.rooms.addresses import read_name, server_address
from gateway_project.console.rooms.catalogue import describe_tool
from gateway_project.console.rooms.page import (
    MIN_SEARCHED,
    RoomRequest,
    escape_fields,
    load_sealer,
    render_room,
    room,
)
from gateway_project.effects import Effects
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.text import strip_invisible
from gateway_project.readiness import NotReady
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_servers, discover_servers
from gateway_project.use_cases.refusals import InvalidEntry
from learning.store.call_counts import (
    CallCount,
    CallsOfHour,
    RecentCalls,
    load_calls_by_hour,
    load_recent_calls,
)
from tools.catalogue import CatalogueTool
from tools.overview import load_embedding_coverage
from tools.store import overview, server_settings
from tools.store.overview import ServerSummary

DAY: Final = timedelta(days=1)
EMBEDDING_FOLLOWED: Final = timedelta(minutes=10)
"""Tools not embedded by then wait for `manage.py embed`: pages stop following them."""
MAX_LISTED_TOOLS: Final = 100
"""Tools on a server's page; the list of tools has the others."""
LOOKS: Final[Mapping[str, str]] = {
    "up": "ok",
    "starting": "info",
    "failing": "bad",
    "sign-in needed": "warn",
    "never contacted": "muted",
    "disabled": "muted",
}
"""Colour of each state; its word stands beside it."""
EXPLANATIONS: Final[Mapping[str, str]] = {
    "up": "It answered when it was last contacted.",
    "starting": "It is being contacted now.",
    "failing": "It did not answer when it was last contacted, or ended since. Its tools cannot "
    "be called until it does.",
    "sign-in needed": "It wants somebody to sign in before it answers.",
    "never contacted": "No process has contacted it yet.",
    "disabled": "It is neither contacted nor offered to clients.",
}
TROUBLED: Final = ("failing", "sign-in needed")
HOURS: Final = 24
WIDTH: Final = 20
"""Of an hour in the picture."""
HEIGHT: Final = 40
LEAST_HEIGHT: Final = 4
"""Of an hour with few calls, so that it is seen."""


@room("servers/", "servers", READ)
def list_servers(request: RoomRequest) -> HttpResponseBase:
    """List the servers that the caller may know of, troubled ones first."""
    caller = request.caller
    summaries = overview.load_visible_summaries(caller)
    calls = _load_calls(caller)
    rows = [describe_server(server, calls) for server in summaries]
    rows.sort(key=lambda row: (row["state"] not in TROUBLED, row["name"]))
    query = request.GET.get("q", "").strip()
    return render_room(
        request,
        "console/servers/list.html",
        title="Servers",
        servers=rows,
        shown=[row for row in rows if query.casefold() in row["raw_name"].casefold()],
        query=query,
        is_searchable=len(rows) > MIN_SEARCHED,
        up=sum(server.state == "up" for server in summaries),
        troubled=[row for row in rows if row["state"] in TROUBLED],
        is_starting=any(server.state == "starting" for server in summaries),
        embedding=load_embedding_progress(summaries, now=timezone.now()),
        may_add=caller.has_scope(SCOPE_ALL),
        add_url=reverse("server-add"),
    )


@room("servers/<path:name>/", "server-page", READ, "GET", "POST")
def show_server(request: RoomRequest, name: str) -> HttpResponseBase:
    """Show one server; a POST does what its `action` names."""
    caller = request.caller
    name = read_name(name, request.GET.get("name"))
    server = curate_servers.find_server(caller, name, with_output=True)
    if request.method == "POST":
        action = ACTIONS.get(request.POST.get("action", ""))
        if action is None:
            messages.error(request, "Nothing was changed: this page does not know that action.")
            return redirect(server_address(name))
        require_scope(caller, SCOPE_ALL)
        return action(request, caller, server)
    return _render_server(request, caller, server)


def _render_server(
    request: RoomRequest, caller: Caller, server: ServerSummary, **more: Any
) -> HttpResponseBase:
    effects, gateway_problem = _find_effects(request)
    is_superuser = caller.has_scope(SCOPE_ALL)
    calls = _load_calls(caller)
    tools = _list_tools(effects, caller, server.name) if effects else []
    sealer = load_sealer()
    stored = server_settings.load_settings(server.name, sealer=sealer)
    return render_room(
        request,
        "console/servers/detail.html",
        title=approval_text.single_line(server.name),
        server=describe_server(server, calls),
        explanation=EXPLANATIONS[server.state],
        embedding=load_embedding_progress([server], now=timezone.now()),
        output=[approval_text.single_line(line) for line in server.last_output],
        stored=escape_fields(stored) if is_superuser else None,
        instructions=strip_invisible(stored.instructions),
        history=list_history(server, stored.created_at),
        hours=describe_hours(_load_hours(caller, server)),
        tools=[describe_tool(tool) for tool in tools[:MAX_LISTED_TOOLS]],
        tool_count=len(tools),
        more_tools=len(tools) - MAX_LISTED_TOOLS,
        tools_url=reverse("tools", query={"server": server.name}),
        waiting=server.pending + server.quarantined,
        changed_url=reverse("tools-changed", query={"server": server.name}),
        gateway_problem=gateway_problem,
        is_superuser=is_superuser,
        needs_sign_in=stored.authorization != "none",
        sign_in_url=reverse("sign-in", args=[server.pk]) if stored.transport != "stdio" else "",
        admin_url=reverse("admin:tools_server_change", args=[server.pk]),
        **more,
    )


def describe_server(server: ServerSummary, calls: RecentCalls) -> dict[str, Any]:
    """Return a server as templates show it; texts of servers with invisible characters escaped."""
    return {
        **escape_fields(server),
        **describe_calls(calls.by_server.get(server.pk)),
        "raw_name": server.name,
        "url": server_address(server.name),
        "look": LOOKS[server.state],
        "waiting": server.pending + server.quarantined,
        "connected_at": server.last_connected_at or server.discovered_at,
    }


def describe_calls(count: CallCount | None) -> dict[str, Any]:
    """Return a day's calls as templates show them."""
    if count is None or not count.calls:
        return {"calls": 0, "failures": 0, "error_share": None, "p95_ms": None, "called_at": None}
    return {
        "calls": count.calls,
        "failures": count.failures,
        "error_share": round(100 * count.failures / count.calls),
        "p95_ms": count.p95_ms,
        "called_at": count.last_at,
    }


def list_history(server: ServerSummary, created_at: datetime) -> list[tuple[datetime, str, str]]:
    """Return what is recorded of a server, newest first: when, what, and how it looks.

    Example:
        >>> from tools.store.overview import ServerSummary
        >>> at = datetime(2026, 1, 2)
        >>> summary = ServerSummary(pk=1, name="a", enabled=True, trusted=False, usable=0,
        ...     quarantined=0, pending=0, discovered_at=None, last_connected_at=None,
        ...     last_error="", last_error_at=None, state="never contacted", failing_since=None,
        ...     retry_at=None)
        >>> [what for _, what, _ in list_history(summary, at)]
        ['registered']
    """
    found = [
        (server.retry_at, "is contacted again", "info"),
        (server.last_error_at, "failed" if server.last_error else "failed, and recovered", "bad"),
        (server.failing_since, "began to fail", "bad"),
        (server.last_connected_at, "answered", "ok"),
        (server.discovered_at, "listed its tools", "ok"),
        (created_at, "registered", "muted"),
    ]
    known = [(at, what, look) for at, what, look in found if at is not None]
    return sorted(known, key=lambda entry: entry[0], reverse=True)


def _list_tools(effects: Effects, caller: Caller, server: str) -> list[CatalogueTool]:
    tools = effects.catalogue().tools
    may_see_all = caller.has_scope(SCOPE_ALL)
    return [
        tool
        for _, tool in sorted(tools.items())
        if tool.server == server and (may_see_all or caller.can_see_team(tool.team))
    ]


def _load_calls(caller: Caller) -> RecentCalls:
    """Return the calls of the last day that a caller may know of."""
    since, is_all = timezone.now() - DAY, caller.has_scope(SCOPE_ALL)
    return load_recent_calls(caller.owner, since=since, is_all=is_all)


def _load_hours(caller: Caller, server: ServerSummary) -> list[CallsOfHour]:
    """Return a server's calls by hour, as far as a caller may know of them."""
    is_all = caller.has_scope(SCOPE_ALL)
    return load_calls_by_hour(
        server.pk, caller.owner, hours=HOURS, at=timezone.now(), is_all=is_all
    )


def _find_effects(request: RoomRequest) -> tuple[Effects | None, str]:
    """Return the gateway of this process, or why there is none: a server's page needs none."""
    try:
        return runtime.load_effects(request), ""
    except NotReady as error:
        return None, str(error)


def _test(request: RoomRequest, caller: Caller, server: ServerSummary) -> HttpResponseBase:
    (test,) = async_to_sync(discover_servers.try_servers)(
        caller, [server.name], config=settings.FOREGATE
    )
    listing = test.listing
    return _render_server(
        request,
        caller,
        server,
        test={
            "error": approval_text.single_line(test.error),
            "output": _escape_lines(test.output),
            "duration_s": test.duration_s,
            "tools": len(listing.tools) if listing else 0,
            "new": _escape_lines(test.new_tools),
            "gone": _escape_lines(test.missing_tools),
            "problems": _escape_lines(listing.problems) if listing else [],
        },
    )


def _discover(request: RoomRequest, caller: Caller, server: ServerSummary) -> HttpResponseBase:
    if discover_servers.request_discovery(caller, [server.name]):
        messages.success(request, "Its tools are being listed again; this page follows.")
    else:
        messages.warning(request, "It is disabled: enable it to have its tools listed.")
    return redirect(server_address(server.name))


def _change(request: RoomRequest, caller: Caller, server: ServerSummary) -> HttpResponseBase:
    """Change what the form names: whether it is enabled or trusted, price, time limit."""
    changes: dict[str, Any] = {
        column: request.POST[column] == "yes"
        for column in ("enabled", "trusted")
        if column in request.POST
    }
    try:
        if "price_per_call" in request.POST:
            changes["price_per_call"] = _read_price(request.POST["price_per_call"])
        if "call_timeout_s" in request.POST:
            changes["call_timeout_s"] = _read_time_limit(request.POST["call_timeout_s"])
        curate_servers.change_server(caller, server.name, changes)
    except InvalidEntry as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, "Saved; it applies within a second.")
    return redirect(server_address(server.name))


def _read_price(text: str) -> Decimal | None:
    if not text.strip():
        return None
    try:
        price = Decimal(text.strip())
    except InvalidOperation:
        price = Decimal(-1)
    if not (price.is_finite() and 0 <= price < 1_000_000):
        raise InvalidEntry("the price is a number of US dollars, or empty: unknown")
    return price.quantize(Decimal("0.000001"))


def _read_time_limit(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        return nan  # refused with the numbers that are out of bounds


def _delete(request: RoomRequest, caller: Caller, server: ServerSummary) -> HttpResponseBase:
    if request.POST.get("confirm") != server.name:
        messages.error(request, "Nothing was deleted: type the server's name to confirm it.")
        return redirect(server_address(server.name))
    curate_servers.delete_server(caller, server.name)
    shown = approval_text.single_line(server.name)
    messages.success(request, f"{shown} was deleted, with its tools and what was known of them.")
    return redirect("servers")


def _escape_lines(texts: Iterable[str]) -> list[str]:
    return [approval_text.single_line(text) for text in texts]


Action = Callable[[RoomRequest, Caller, ServerSummary], HttpResponseBase]
ACTIONS: Final[Mapping[str, Action]] = {
    "test": _test,
    "discover": _discover,
    "change": _change,
    "delete": _delete,
}
"""What a POST to a server's page may do; all of it is a superuser's right."""


def load_embedding_progress(
    servers: Sequence[ServerSummary], *, now: datetime
) -> dict[str, Any] | None:
    """Return the numbers of embedded and of all tools while servers' new tools are embedded.

    Args:
        servers: The servers whose tools count.
        now: Current time.

    Returns:
        `embedded` and `tools`; None if all are embedded or no server was listed lately.
    """
    if not any(
        server.discovered_at and now - server.discovered_at < EMBEDDING_FOLLOWED
        for server in servers
    ):
        return None
    names = [server.name for server in servers]
    coverage = load_embedding_coverage(settings.FOREGATE.embedding_model, servers=names)
    return coverage if coverage["embedded"] < coverage["tools"] else None


def describe_hours(hours: Sequence[CallsOfHour]) -> dict[str, Any]:
    """Return the last day of a server as templates show it; no bars: it was not called.

    Example:
        >>> told = describe_hours([CallsOfHour(3, 4, 0, 2), CallsOfHour(0, 8, 0, 0)])
        >>> told["says"]
        '12 calls in 2 of 24 hours; in 1 of them, some got no answer.'
        >>> [(bar["when"], bar["look"], bar["says"]) for bar in told["bars"]]  # doctest: +ELLIPSIS
        [('3 hours ago', 'bad', '4 calls, 2 without an answer'), ('within the last hour', ...)]
    """
    most = max((hour.calls for hour in hours), default=0)
    return {
        "bars": [_draw_hour(hour, most) for hour in hours],
        "says": _summarize(hours),
        "width": HOURS * WIDTH,
        "height": HEIGHT,
        "bar_width": WIDTH - 3,
    }


def _draw_hour(hour: CallsOfHour, most: int) -> dict[str, Any]:
    """Return the bar of an hour; `trouble` is its part for calls without success, from below."""
    height = max(LEAST_HEIGHT, HEIGHT * hour.calls / most)
    trouble = height * (hour.failed + hour.unanswered) / hour.calls
    parts = [f"{hour.calls} call{'s' if hour.calls > 1 else ''}"]
    if hour.failed:
        parts.append(f"{hour.failed} ended with an error of the tool")
    if hour.unanswered:
        parts.append(f"{hour.unanswered} without an answer")
    return {
        "x": (HOURS - 1 - hour.hours_ago) * WIDTH,
        "y": round(HEIGHT - height, 1),
        "height": round(height, 1),
        "trouble": round(trouble, 1),
        "trouble_y": round(HEIGHT - trouble, 1),
        "look": "bad" if hour.unanswered else "warn" if hour.failed else "ok",
        "when": f"{hour.hours_ago} hour{'s' if hour.hours_ago > 1 else ''} ago"
        if hour.hours_ago
        else "within the last hour",
        "says": ", ".join(parts),
    }


def _summarize(hours: Sequence[CallsOfHour]) -> str:
    calls = sum(hour.calls for hour in hours)
    silent = sum(hour.unanswered > 0 for hour in hours)
    counted = f"{calls} call{'' if calls == 1 else 's'} in {len(hours)} of {HOURS} hours"
    if silent:
        return f"{counted}; in {silent} of them, some got no answer."
    return f"{counted}; the server answered all of them."
