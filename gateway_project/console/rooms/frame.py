"""What the frame around every page can change: the switch of speculation and the team."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme

from gateway_project.access.callers import TEAM_KEY
from gateway_project.access.roles import ADMINISTER, READ
from gateway_project.api.problems import InvalidInput, NotFound
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.use_cases.curate_speculation import switch_speculation


@room(ADMINISTER, "GET", "POST")
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


@room(READ, "POST")
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


urlpatterns = [
    path("switch/", switch, name="console-switch"),
    path("team/", choose_team, name="console-team"),
]
