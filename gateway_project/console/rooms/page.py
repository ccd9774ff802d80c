"""What all rooms share: who may enter, errors as pages, and the shell around the content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import wraps
from http import HTTPStatus
from types import ModuleType
from typing import Any, Final

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods

from execution.store import grants
from gateway_project.access import callers, roles
from gateway_project.access.callers import TEAM_KEY
from gateway_project.access.roles import ADMINISTER, CURATE, READ
from gateway_project.api import problems
from gateway_project.api.problems import ApiError, InvalidInput, NotFound
from gateway_project.console.rooms import menu
from gateway_project.console.site import (
    UnstorableValue,
    has_extreme_value,
    reject_nul,
)
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.user_error import UserError
from gateway_project.runs import approval_text
from gateway_project.use_cases import decide_approval
from gateway_project.use_cases.curate_speculation import switch_speculation
from tools.store import overview
from tools.store.overview import TeamName

MAX_WAITING: Final = 100
"""Things that wait are counted up to here; the menu shows `99+`."""
MIN_SEARCHED: Final = 12
"""Servers above which a page of all of them can be searched by name."""
_ANSWERED_ERRORS: Final = (ApiError, Http404, UserError)
"""Errors that are answered with a page; others are defects."""

log = structlog.get_logger(__name__)


class RoomRequest(HttpRequest):
    """A request to a room, for annotations.

    Attributes:
        caller: Who asks, for the chosen team.
        teams: The teams they may choose from.
    """

    caller: Caller
    teams: tuple[TeamName, ...]


View = Callable[..., HttpResponseBase]


def load_sealer() -> Sealer:
    """Return what opens and seals the secrets of servers and webhooks."""
    return sealing.load_or_create_sealer(settings.FOREGATE.home)


def load_payload_sealer() -> Sealer:
    """Return what opens and seals arguments, results and intents."""
    return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)


def room(route: str, name: str, scope: str = READ, *methods: str) -> Callable[[View], View]:
    """Make a view a room: for signed-in users with a scope; errors are answered with a page.

    Args:
        route: Its address, as in Django's URL patterns.
        name: Of the address.
        scope: Required of the caller.
        methods: Of HTTP that it serves; none: GET. HEAD goes with GET.
    """
    served = ["GET", "HEAD", *methods[1:]] if methods[:1] != ("POST",) else ["POST"]

    def decorate(view: View) -> View:
        view = require_http_methods(served)(view)

        @wraps(view)
        def answer(request: RoomRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            try:
                reject_nul(request, *args, *kwargs.values())
            except UnstorableValue as error:
                return _render_unusable(request, str(error))
            teams = overview.load_teams(request.user.get_username())
            request.teams = teams.own
            request.caller = callers.make_caller(
                request.user, teams, kind="console", chosen=request.session.get(callers.TEAM_KEY)
            )
            try:
                roles.require_scope(request.caller, scope)
                return view(request, *args, **kwargs)
            except (DataError, OverflowError) as error:
                if not has_extreme_value(request, *args, *kwargs.values()):
                    raise  # a defect
                log.warning("console.value_out_of_range", path=request.path, exc_info=error)
                return _render_unusable(request, "it holds a value that is out of range")
            except _ANSWERED_ERRORS as error:
                return render_problem(request, problems.describe_problem(error))

        answer.address = path(route, answer, name=name)  # type: ignore[attr-defined]
        return answer

    return decorate


def list_addresses(modules: Iterable[ModuleType]) -> list[URLPattern]:
    """Return the addresses of the rooms in modules; one that others would take in comes first."""
    found = [
        address
        for module in modules
        for view in vars(module).values()
        if isinstance(address := getattr(view, "address", None), URLPattern)
        and view.__module__ == module.__name__
    ]
    return sorted(found, key=lambda one: _rank_route(str(one.pattern)))


def _rank_route(route: str) -> tuple[int, int]:
    """Rank longer routes before shorter ones, and fixed words before what the address names."""
    return -route.count("/"), route.count("<")


def render_room(
    request: HttpRequest, template: str, *, title: str, status: int = 200, **context: Any
) -> HttpResponse:
    """Render a page of a room inside the shell.

    Args:
        request: To a view with `room`.
        template: Name of a template that extends `console/base.html`.
        title: Of the page.
        status: Of HTTP.
        context: For the template.
    """
    shell = _build_shell(request)  # type: ignore[arg-type]
    response = render(
        request, template, {"shell": shell, "title": title, **context}, status=status
    )
    response.headers.setdefault("Cache-Control", "private, no-cache")
    return response


def render_problem(request: HttpRequest, problem: ApiError) -> HttpResponse:
    """Render what failed and what to try."""
    return render_room(
        request,
        "console/problem.html",
        title=_TITLES.get(problem.status, "This did not work"),
        status=problem.status,
        problem=problem,
    )


_TITLES: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "You may not open this",
    HTTPStatus.NOT_FOUND: "There is nothing here",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not available right now",
}


def _render_unusable(request: HttpRequest, reason: str) -> HttpResponse:
    """Answer an address that can belong to no page; it is looked up nowhere."""
    context = {"title": "This address cannot be looked up", "reason": reason}
    return render(request, "console/unusable.html", context, status=HTTPStatus.BAD_REQUEST)


def _build_shell(request: RoomRequest) -> dict[str, Any]:
    """Return what the frame around a page shows."""
    caller = request.caller
    waiting = {menu.APPROVALS: decide_approval.count_pending(caller, most=MAX_WAITING)}
    if caller.has_scope(CURATE):
        waiting[menu.CHANGED_TOOLS] = overview.count_unapproved_tools(
            team=caller.team, is_all=caller.has_scope(SCOPE_ALL), most=MAX_WAITING
        )
    is_available = settings.FOREGATE.speculation
    return {
        "caller": caller,
        "menu": menu.build_menu(caller, request.path, waiting),
        "rooms": {one.name: one.path for one in menu.list_rooms(caller)},
        "waiting": waiting,
        "switch": {
            "is_available": is_available,
            "is_on": is_available and grants.is_speculation_on(),
            "may_switch": caller.has_scope(ADMINISTER),
        },
        "teams": request.teams,
        "team": next((team for team in request.teams if team.pk == caller.team), None),
        "roles": _describe_rights(request),
    }


def _describe_rights(request: RoomRequest) -> str:
    if request.caller.has_scope(SCOPE_ALL):
        return "superuser"
    held = {group.name for group in request.user.groups.all()}
    return ", ".join(role for role in roles.ROLES if role in held) or "member"


@room("switch/", "console-switch", ADMINISTER, "GET", "POST")
def switch(request: RoomRequest) -> HttpResponse:
    """Ask whether to turn all speculation on or off, and do it."""
    if request.method != "POST":
        return render_room(request, "console/switch.html", title="Speculation, on or off")
    wanted = request.POST.get("on")
    if wanted not in {"yes", "no"}:
        raise InvalidInput("on: yes or no")
    is_changed = switch_speculation(request.caller, is_on=wanted == "yes")
    state = "on" if wanted == "yes" else "off"
    words = f"Speculation is {state}" if is_changed else f"Speculation was {state} already"
    messages.success(request, f"{words}; every process follows within a second.")
    return HttpResponseRedirect(_find_next(request))


@room("team/", "console-team", READ, "POST")
def choose_team(request: RoomRequest) -> HttpResponse:
    """Act for one of the user's teams from now on, or for none."""
    chosen = request.POST.get("team", "")
    if not chosen:
        request.session.pop(TEAM_KEY, None)
        return HttpResponseRedirect(_find_next(request))
    for team in request.teams:
        if str(team.pk) == chosen:
            request.session[TEAM_KEY] = team.pk
            return HttpResponseRedirect(_find_next(request))
    raise NotFound("such team of yours")


def _find_next(request: HttpRequest) -> str:
    """Return the page to go back to; only one of this console."""
    wanted = request.POST.get("next", "")
    hosts = {request.get_host()}
    is_own = url_has_allowed_host_and_scheme(wanted, hosts, require_https=request.is_secure())
    return wanted if is_own and wanted.startswith("/") else "/"


def escape_fields(row: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, invisible characters of their texts escaped."""
    return {field.name: _escape(getattr(row, field.name)) for field in fields(row)}


def _escape(value: Any) -> Any:
    if isinstance(value, str):
        return approval_text.single_line(value)
    return [_escape(one) for one in value] if isinstance(value, tuple) else value
