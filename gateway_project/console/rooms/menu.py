"""The menu of the console: rooms by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway_project.access.roles import ADMINISTER, APPROVE, CURATE, READ, SEARCH
from gateway_project.foundation.caller import SCOPE_ALL, Caller


@dataclass(frozen=True, kw_only=True)
class Room:
    """A page of the menu.

    Attributes:
        name: Under which templates find its address.
        path: Its address.
        label: Its name.
        question: What it answers, for the search.
        icon: Name in `icons.svg`.
        scope: Required to open it.
        counted: Key of the number of things that wait there; empty: none do.
    """

    name: str
    path: str
    label: str
    question: str
    icon: str
    scope: str = READ
    counted: str = ""


APPROVALS: Final = "approvals"
CHANGED_TOOLS: Final = "changed_tools"

SECTIONS: Final[tuple[tuple[str, tuple[Room, ...]], ...]] = (
    (
        "",
        (
            Room(
                name="home",
                path="/",
                label="Home",
                question="Is all well, what waits for me?",
                icon="home",
            ),
            Room(
                name="playground",
                path="/playground/",
                label="Playground",
                question="What would the gateway answer?",
                icon="play",
                scope=SEARCH,
            ),
        ),
    ),
    (
        "Work",
        (
            Room(
                name="runs",
                path="/runs/",
                label="Runs",
                question="What ran, why did it fail?",
                icon="runs",
            ),
            Room(
                name="approvals",
                path="/approvals/",
                label="Approvals",
                question="What needs my word?",
                icon="check",
                scope=APPROVE,
                counted=APPROVALS,
            ),
        ),
    ),
    (
        "Tools",
        (
            Room(
                name="servers",
                path="/servers/",
                label="Servers",
                question="How do they do?",
                icon="server",
            ),
            Room(
                name="tools",
                path="/tools/",
                label="Tools",
                question="Which tool does this?",
                icon="tool",
                scope=SEARCH,
            ),
            Room(
                name="tool_groups",
                path="/tools/groups/",
                label="Tool groups",
                question="Which tools may a client see?",
                icon="boxes",
                scope=ADMINISTER,
            ),
            Room(
                name="changed_tools",
                path="/tools/changed/",
                label="Changed tools",
                question="What changed under us?",
                icon="diff",
                scope=CURATE,
                counted=CHANGED_TOOLS,
            ),
            Room(
                name="graph",
                path="/graph/",
                label="Tool graph",
                question="How do tools belong together?",
                icon="graph",
                scope=SEARCH,
            ),
        ),
    ),
    (
        "Safety",
        (
            Room(
                name="danger",
                path="/danger/",
                label="Dangerous operations",
                question="What counts as dangerous?",
                icon="shield",
            ),
            Room(
                name="speculation",
                path="/speculation/",
                label="Speculation",
                question="What is called ahead, is it right?",
                icon="ahead",
            ),
            Room(
                name="learning",
                path="/learning/",
                label="Learning",
                question="What was learned, are its numbers right?",
                icon="learn",
            ),
        ),
    ),
    (
        "Administration",
        (
            Room(
                name="clients",
                path="/clients/",
                label="Connect a client",
                question="How do I connect my client?",
                icon="plug",
            ),
            Room(
                name="access",
                path="/access/",
                label="Access",
                question="Who may do what? People, roles, teams, tokens",
                icon="people",
                scope=ADMINISTER,
            ),
            Room(
                name="webhooks",
                path="/access/webhooks/",
                label="Webhooks",
                question="Who is notified of events?",
                icon="bell",
                scope=ADMINISTER,
            ),
            Room(
                name="audit",
                path="/audit/",
                label="Audit trail",
                question="Who did what?",
                icon="list",
                scope=ADMINISTER,
            ),
            Room(
                name="settings",
                path="/settings/",
                label="Settings",
                question="How is it set up?",
                icon="settings",
                scope=ADMINISTER,
            ),
            Room(
                name="system",
                path="/system/",
                label="System",
                question="What is stored, how large is it?",
                icon="database",
                scope=SCOPE_ALL,
            ),
        ),
    ),
)


def list_rooms(caller: Caller) -> list[Room]:
    """Return the rooms that a caller may enter, in the menu's order."""
    return [room for _, rooms in SECTIONS for room in rooms if caller.has_scope(room.scope)]


def build_menu(caller: Caller, path: str, waiting: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the menu's sections with their rooms, for the template.

    Args:
        caller: Who sees it.
        path: Address of the current page.
        waiting: Numbers of things that wait, by `Room.counted`.
    """
    allowed = list_rooms(caller)
    current = find_current(allowed, path)
    sections = []
    for label, rooms in SECTIONS:
        shown = [
            {"room": room, "current": room is current, "waiting": waiting.get(room.counted, 0)}
            for room in rooms
            if room in allowed
        ]
        if shown:
            sections.append({"label": label, "rooms": shown})
    return sections


def find_current(rooms: list[Room], path: str) -> Room | None:
    """Return the room that a page belongs to: the one with the longest matching address."""
    matching = [room for room in rooms if path == room.path or _is_below(path, room.path)]
    return max(matching, key=lambda room: len(room.path), default=None)


def _is_below(path: str, room: str) -> bool:
    return room != "/" and path.startswith(room)
