"""The audit trail: who did what."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path

from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER
from gateway_project.api import system
from gateway_project.api.pages import paginate_rows
from gateway_project.api.problems import InvalidInput
from gateway_project.console.rooms import audit_sentences
from gateway_project.console.rooms.page import RoomRequest, render_room, room

EXPORTS: Final = ("csv", "jsonl")
KINDS: Final = ("console", "http", "command", "stdio")
SUBJECT: Final = "subject"


@room(ADMINISTER)
def show_entries(request: RoomRequest) -> HttpResponse:
    """List entries, newest first, filtered."""
    page = paginate_rows(request, _select_rows(request))
    query = request.GET.copy()
    query.pop("cursor", None)
    return render_room(
        request,
        "console/audit.html",
        title="Audit trail",
        entries=[
            (
                entry,
                audit_sentences.describe_entry(
                    entry.action, entry.subject, kind=entry.kind, detail=entry.detail
                ),
            )
            for entry in page.items
        ],
        next_cursor=page.next_cursor,
        query=query.urlencode(),
        filters=request.GET,
        is_filtered=any(request.GET.get(name) for name in (*system.FILTERS, "since", "until")),
        actions=_list_actions(),
        kinds=[(kind, audit_sentences.describe_connection(kind)) for kind in KINDS],
    )


@room(ADMINISTER)
def export_entries(request: RoomRequest, form: str) -> HttpResponseBase:
    """Return the filtered entries as a file."""
    if form not in EXPORTS:
        raise InvalidInput(f"the form is one of {', '.join(EXPORTS)}")
    return system.export_audit(_select_rows(request), form)


def _select_rows(request: RoomRequest) -> Any:
    """Return the filtered entries; the subject is searched for, not compared."""
    given = read_filters(request)
    part = given.pop(SUBJECT, "")
    rows = system.select_audit_rows(request.caller, given)
    return audit.search_subjects(rows, part) if part else rows


def _list_actions() -> list[tuple[str, str]]:
    """Return the actions that occur with what they did, by those words."""
    named = [(action, audit_sentences.describe_action(action)) for action in audit.list_actions()]
    shown = [(action, words.replace(audit_sentences.SUBJECT, "…")) for action, words in named]
    return sorted(shown, key=lambda one: one[1])


def read_filters(request: RoomRequest) -> dict[str, str]:
    """Return the filters of an address."""
    names = (*system.FILTERS, "since", "until")
    return {name: value for name in names if (value := request.GET.get(name, ""))}


urlpatterns: list[Any] = [
    path("", show_entries, name="audit"),
    path("export.<str:form>", export_entries, name="audit-export"),
]
