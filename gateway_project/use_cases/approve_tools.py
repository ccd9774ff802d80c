"""Approve tools whose definition is new or changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction
from django.utils import timezone

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from tools import definition_changes, ids
from tools.definition import Definition
from tools.store import approvals, catalogue, overview, pages
from tools.store.approvals import UnapprovedTool
from tools.store.pages import WaitingPage

if TYPE_CHECKING:
    from tools.models import Tool

MAX_PAGE_LINES: Final = 60
"""Lines of a page's differences that are shown."""
MAX_LINE_CHARS: Final = 160
MAX_COMPARED_LINES: Final = 20_000
"""Of both versions of a page: comparing more could take minutes."""


def load_waiting(caller: Caller, **only: Any) -> list[UnapprovedTool]:
    """Return the definitions that wait for approval, of servers that a caller may know of.

    Args:
        caller: The viewer.
        only: As of `tools.store.approvals.load_unapproved`.
    """
    visible = {server.name for server in overview.load_visible_summaries(caller)}
    found = approvals.load_unapproved(**only)
    return [one for one in found if ids.split_id(one.tool)[0] in visible]


def approve_tools(
    caller: Caller,
    tools: Iterable[Tool],
    *,
    user: Any,
    shown: Mapping[int, str] | None = None,
    ignore: Mapping[int, Collection[str]] | None = None,
) -> tuple[str, ...]:
    """Pin the currently listed definitions; return the ids of the changed tools.

    Args:
        caller: The actor.
        tools: Tools to approve.
        user: Row of the approving person.
        shown: Hash of the definition the person saw, by primary key of the tool; a tool that
            has changed since stays unapproved.
        ignore: JSON pointers to ignore when later listings are compared, by primary key of the
            tool.

    Raises:
        tools.definition_changes.NotIgnorable: If a place must not be ignored; nothing is
            approved.
    """
    chosen = list(tools)
    with transaction.atomic():
        approved = catalogue.approve_tools(
            chosen, user=user, at=timezone.now(), shown=shown, ignore=ignore
        )
        ignored = approvals.load_ignored_places(chosen)
        for tool_id, definition_hash in approved.items():
            detail: dict[str, Any] = {"definition": definition_hash}
            if ignored[tool_id]:
                detail["ignored"] = ignored[tool_id]
            audit.record_audit(caller, "tool.approved", tool_id, detail=detail)
    return tuple(approved)


def approve_instructions(caller: Caller, server: str, *, shown: str) -> bool:
    """Pin the instructions of a server; false if they have changed since a person saw them."""
    with transaction.atomic():
        pinned = catalogue.pin_instructions(server, shown=shown)
        if pinned:
            audit.record_audit(caller, "server.instructions_approved", server)
    return pinned


def load_waiting_pages(caller: Caller, *, server: str | None = None) -> tuple[WaitingPage, ...]:
    """Return the pages and skills that wait, of servers that a caller may know of."""
    visible = {one.name for one in overview.load_visible_summaries(caller)}
    return tuple(one for one in pages.load_waiting(server=server) if one.server in visible)


def compare_page(page: WaitingPage) -> list[str]:
    """Return the lines of a page or skill that differ from the approved ones, bounded.

    The last line says what is left out.
    """
    before = page.approved or Definition(name=page.listed.name)
    texts = (before.description, page.listed.description)
    if sum(text.count("\n") for text in texts) > MAX_COMPARED_LINES:
        return ["it has too many lines to show what differs"]
    lines = definition_changes.render_diff_lines(before, page.listed)
    shown = [
        line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
        for line in lines[:MAX_PAGE_LINES]
    ]
    more = len(lines) - len(shown)
    return [*shown, f"… {more} more lines"] if more else shown


def approve_pages(caller: Caller, waiting: Iterable[WaitingPage], *, user: Any) -> int:
    """Pin pages and skills as a person saw them; return how many had not changed since."""
    approved = 0
    with transaction.atomic():
        for page in waiting:
            uri, shown = page.listed.name, page.listed_hash
            if pages.pin_page(page.server, uri, shown=shown, user=user, at=timezone.now()):
                approved += 1
                detail = {page.kind: uri, "definition": shown}
                action = f"server.{page.kind}_approved"
                audit.record_audit(caller, action, page.server, detail=detail)
    return approved


def compare_tools_in_full(caller: Caller, tools: Iterable[Tool]) -> tuple[str, ...]:
    """Clear the ignored places of tools; return the ids of the changed tools."""
    with transaction.atomic():
        changed = approvals.clear_ignored_places(tools)
        for tool_id in changed:
            audit.record_audit(caller, "tool.compared_in_full", tool_id)
    return changed
