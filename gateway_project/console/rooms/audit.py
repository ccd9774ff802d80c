"""The audit trail: who did what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse

from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER
from gateway_project.api import system
from gateway_project.api.pages import paginate_rows
from gateway_project.api.problems import InvalidInput
from gateway_project.console.rooms.addresses import run_address, server_address, tool_address
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from tools import ids

EXPORTS: Final = ("csv", "jsonl")
KINDS: Final = ("console", "http", "command", "stdio")
SUBJECT: Final = "{}"
"""Place of the subject in a phrase."""
CHANGED: Final = "changed"
"""Key of the names of changed settings in an entry's details."""
_VERBS: Final[Mapping[str, str]] = {
    "registered": "added", "changed": "changed", "deleted": "deleted", "created": "created",
    "revoked": "revoked", "tested": "tested", "imported": "imported",
}  # fmt: skip
_NOUNS: Final[Mapping[str, str]] = {
    "dangerousoperation": "dangerous operation", "toolgroup": "tool group", "group": "role",
    "oauth_client": "OAuth client", "user": "account",
}  # fmt: skip
_PHRASES: Final[Mapping[str, str]] = {
    "approval.approved": "approved a call of {}",
    "approval.rejected": "rejected a call of {}",
    "configuration.imported": "imported a configuration",
    "history.imported": "imported past runs from {}",
    "oauth.authorized": "allowed the client {} to act for them",
    "oauth.changed": "changed the registration of the client {}",
    "oauth.registered": "registered the client {}",
    "pattern.forgotten": "had the pattern {} forgotten",
    "keys.removed": "removed old keys of {}",
    "keys.rotated": "made a new key of {}",
    "relation.confirmed": "confirmed that {}",
    "relation.rejected": "rejected that {}",
    "relation.restored": "took back the rejection of {}",
    "relation.withdrawn": "took back what was said about {}",
    "relations.imported": "imported relations from {}",
    "run.told_to_abort": "aborted the run {}",
    "run.told_to_pause": "paused the run {}",
    "run.told_to_replan": "replanned the run {}",
    "run.told_to_rerun_unknown": "had calls with an unknown outcome repeated in the run {}",
    "run.told_to_resume": "resumed the run {}",
    "server.discovery_requested": "had the tools of {} discovered",
    "sign_in.forgotten": "removed the sign-in to {}",
    "sign_in.made": "signed in to {}",
    "speculation.compared_anew": "restarted the comparison of results of {}",
    "speculation.granted": "granted speculation for {}",
    "speculation.revoked": "revoked speculation for {}",
    "speculation.turned_off": "turned speculation off",
    "server.instructions_approved": "approved the instructions of {}",
    "server.page_approved": "approved a page of {}",
    "speculation.turned_on": "turned speculation on",
    "speculation_budget.changed": "changed the speculation {}",
    "speculation_budget.deleted": "deleted the speculation {}",
    "speculation_budget.registered": "set the speculation {}",
    "suggestion.judged": "judged the suggestion {}",
    "threshold.overridden": "set the {}",
    "tool.approved": "approved the definition of {}",
    "tool.compared_in_full": "had whole definitions of {} compared again",
    "tool.pinned": "pinned {}",
    "tool.unpinned": "unpinned {}",
    "user.groups_followed": "got roles and teams from the identity provider",
    "user.roles_changed": "changed the roles of {}",
    "user.second_factor_added": "added a second factor",
    "user.second_factor_removed": "removed a second factor",
    "user.second_factor_reset": "removed the second factor of {}",
    "user.signed_in": "signed in",
    "webhook.tested": "sent a test to the webhook {}",
}
_TOOLS: Final = ("tool.", "speculation.", "approval.")
"""Beginnings of actions whose subject is a tool."""
_SERVERS: Final = ("server.", "sign_in.")
_CONNECTIONS: Final[Mapping[str, str]] = {
    "command": "at the command line",
    "console": "in the console",
    "http": "over HTTP",
    "stdio": "over stdio",
}
_LABELS: Final[Mapping[str, str]] = {
    "closed_world": "reads only what it says", "definition": "definition",
    "for": "on behalf of", "via": "decided in", "ignored": "left out of comparisons",
    "methods": "signed in by", "scopes": "scopes", "override": "threshold",
}  # fmt: skip
_HASH: Final = re.compile(r"[0-9a-f]{40,}")
_SHOWN_HASH_CHARS: Final = 12
_THRESHOLD: Final = re.compile(r"threshold (\d{1,18})\b", re.ASCII)


@room("audit/", "audit", ADMINISTER)
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
                describe_entry(entry.action, entry.subject, kind=entry.kind, detail=entry.detail),
            )
            for entry in page.items
        ],
        next_cursor=page.next_cursor,
        query=query.urlencode(),
        filters=request.GET,
        is_filtered=any(request.GET.get(name) for name in (*system.FILTERS, "since", "until")),
        actions=_list_actions(),
        kinds=[(kind, describe_connection(kind)) for kind in KINDS],
    )


@room("audit/export.<str:form>", "audit-export", ADMINISTER)
def export_entries(request: RoomRequest, form: str) -> HttpResponseBase:
    """Return the filtered entries as a file."""
    if form not in EXPORTS:
        raise InvalidInput(f"the form is one of {', '.join(EXPORTS)}")
    return system.export_audit(_select_rows(request), form)


def _select_rows(request: RoomRequest) -> Any:
    """Return the filtered entries; the subject is searched for, not compared."""
    given = read_filters(request)
    part = given.pop("subject", "")
    rows = system.select_audit_rows(request.caller, given)
    return audit.search_subjects(rows, part) if part else rows


def _list_actions() -> list[tuple[str, str]]:
    """Return the actions that occur with what they did, by those words."""
    named = [(action, describe_action(action)) for action in audit.list_actions()]
    shown = [(action, words.replace(SUBJECT, "…")) for action, words in named]
    return sorted(shown, key=lambda one: one[1])


def read_filters(request: RoomRequest) -> dict[str, str]:
    """Return the filters of an address."""
    names = (*system.FILTERS, "since", "until")
    return {name: value for name in names if (value := request.GET.get(name, ""))}


class Sentence(NamedTuple):
    """An entry in words, around its subject, which may be a text of a server.

    Attributes:
        before: What was done.
        subject: To what; empty: the phrase says it.
        after: The rest of the phrase, with the settings that were changed.
        address: Page of the subject; empty: none.
        connection: How the actor was connected.
        details: Names and values of what changed.
    """

    before: str
    subject: str
    after: str
    address: str
    connection: str
    details: tuple[tuple[str, str], ...]


def describe_entry(action: str, subject: str, *, kind: str, detail: Mapping[str, Any]) -> Sentence:
    """Return an entry of the audit trail as a sentence.

    Example:
        >>> found = describe_entry(
        ...     "speculation.granted", "git:git_log", kind="console", detail={"team": None}
        ... )
        >>> found.before, found.subject, found.connection, found.details
        ('granted speculation for', 'git_log of git', 'in the console', (('team', 'none'),))
    """
    before, place, after = describe_action(action).partition(SUBJECT)
    changed = detail.get(CHANGED)
    names = changed if isinstance(changed, list | tuple) else ()
    told = ", ".join(_describe_change(name, detail) for name in names) or _format(changed)
    changes = f"({told})" if changed else ""
    return Sentence(
        before=before.strip(),
        subject=_name_subject(action, subject) if place else "",
        after=f"{after} {changes}".strip(),
        address=_find_address(action, subject),
        connection=_CONNECTIONS.get(kind, kind),
        details=tuple(
            (describe_field(name), _format(value))
            for name, value in detail.items()
            if name != CHANGED and name not in names
        ),
    )


def _describe_change(name: str, detail: Mapping[str, Any]) -> str:
    """Return a setting that was changed, and to what, if that was kept.

    Example:
        >>> _describe_change("trusted", {"trusted": False}), _describe_change("read_only", {})
        ('trusted: no', 'read only')
    """
    words = name.replace("_", " ")
    return f"{words}: {_format(detail[name])}" if name in detail else words


def describe_action(action: str) -> str:
    """Return what an action did, with `SUBJECT` where its subject belongs.

    Example:
        >>> describe_action("toolgroup.registered"), describe_action("speculation.turned_off")
        ('added the tool group {}', 'turned speculation off')
    """
    if action in _PHRASES:
        return _PHRASES[action]
    kind, _, verb = action.partition(".")
    noun = _NOUNS.get(kind, kind.replace("_", " "))
    return f"{_VERBS.get(verb, verb.replace('_', ' '))} the {noun} {SUBJECT}"


def describe_connection(kind: str) -> str:
    """Return how somebody was connected, in words."""
    return _CONNECTIONS.get(kind, kind)


def describe_field(name: str) -> str:
    """Return the label of a detail."""
    return _LABELS.get(name, name.replace("_", " "))


def _name_subject(action: str, subject: str) -> str:
    """Return a subject as it is shown.

    Example:
        >>> _name_subject("run.told_to_pause", "00000000-0000-0000-0000-000000000001")
        '00000000'
    """
    if action.startswith(_TOOLS) and (parts := _split_tool(subject)):
        server, tool = parts
        return f"{tool} of {server}"
    return subject[:8] if _read_uuid(subject) else subject


def _find_address(action: str, subject: str) -> str:
    if action.endswith(".deleted"):
        return ""
    if action.startswith(_TOOLS) and _split_tool(subject):
        return tool_address(subject)
    if action.startswith(_SERVERS):
        return server_address(subject)
    if action == "threshold.overridden" and (numbered := _THRESHOLD.match(subject)):
        return reverse("threshold", args=[numbered[1]])
    found = _read_uuid(subject)
    if found and action == "suggestion.judged":
        return reverse("prediction", args=[found])
    return run_address(found) if found and action.startswith("run.") else ""


def _split_tool(subject: str) -> tuple[str, str] | None:
    try:
        return ids.split_id(subject)
    except ids.MalformedToolId:
        return None


def _read_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _format(value: Any) -> str:
    """Return a value in words.

    Example:
        >>> _format(["danger", "read_only"]), _format(True), _format({}), _format({"a": 1})
        ('danger, read only', 'yes', 'none', 'a: 1')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_format(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_format, value)) or "none"
    if isinstance(value, str) and _HASH.fullmatch(value):
        return f"{value[:_SHOWN_HASH_CHARS]}…"
    return "none" if value in (None, "") else str(value).replace("_", " ")
