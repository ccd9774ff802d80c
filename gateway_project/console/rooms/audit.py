"""The audit trail: who did what."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.http import require_safe
from rest_framework.request import Request

from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER
from gateway_project.api import system
from gateway_project.api.pages import encode_cursor, paginate_rows
from gateway_project.api.problems import InvalidInput
from gateway_project.console.rooms.page import RoomRequest, render_room, room

EXPORTS: Final = ("csv", "jsonl")
KINDS: Final = ("console", "http", "command", "stdio")


@room(scope=ADMINISTER)
@require_safe
def show_entries(request: RoomRequest) -> HttpResponse:
    """List entries, newest first, filtered."""
    given = read_filters(request)
    rows = system.select_audit_rows(request.caller, given)
    page = paginate_rows(Request(request), rows)
    query = request.GET.copy()
    query.pop("cursor", None)
    return render_room(
        request,
        "console/audit.html",
        title="Audit trail",
        entries=page.items,
        next_cursor=encode_cursor(page.next_key) if page.next_key else "",
        query=query.urlencode(),
        filters=request.GET,
        is_filtered=bool(given),
        actions=audit.list_actions(),
        kinds=KINDS,
    )


@room(scope=ADMINISTER)
@require_safe
def export_entries(request: RoomRequest, form: str) -> HttpResponseBase:
    """Return the filtered entries as a file."""
    if form not in EXPORTS:
        raise InvalidInput(f"the form is one of {', '.join(EXPORTS)}")
    rows = system.select_audit_rows(request.caller, read_filters(request))
    return system.export_audit(rows, form)


def read_filters(request: RoomRequest) -> dict[str, str]:
    """Return the filters of an address as the API names them; days become times of UTC.

    Raises:
        InvalidInput: If a day is none.
    """
    given = {name: value for name in system.FILTERS if (value := request.GET.get(name, ""))}
    if since := request.GET.get("since"):
        given["since"] = f"{_read_day(since, 'since').isoformat()}T00:00:00Z"
    if until := request.GET.get("until"):
        given["until"] = f"{_read_day(until, 'until') + timedelta(days=1)}T00:00:00Z"
    return given


def _read_day(text: str, name: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.max
    if not date.min < day < date.max:
        raise InvalidInput(f"{name}: a day, such as 2026-11-01")
    return day


urlpatterns: list[Any] = [
    path("", show_entries, name="audit"),
    path("export.<str:form>", export_entries, name="audit-export"),
]
