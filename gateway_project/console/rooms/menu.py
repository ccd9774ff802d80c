"""The menu of the console: rooms by task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gateway_project.access.roles import ADMINISTER, APPROVE, CURATE, READ, SEARCH
from gateway_project.foundation.caller import SCOPE_ALL, Caller


class Room(NamedTuple):
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
            Room("home", "/", "Home", "Is all well, what waits for me?", "home"),
            Room("playground", "/playground/", "Playground",
                 "What would the gateway answer?", "play", SEARCH),
        ),
    ),
    (
        "Work",
        (
            Room("runs", "/runs/", "Runs", "What ran, why did it fail?", "runs"),
            Room("approvals", "/approvals/", "Approvals",
                 "What needs my word?", "check", APPROVE, APPROVALS),
        ),
    ),
    (
        "Tools",
        (
            Room("servers", "/servers/", "Servers", "How do they do?", "server"),
            Room("tools", "/tools/", "Tools", "Which tool does this?", "tool", SEARCH),
            Room("tool_groups", "/tools/groups/", "Tool groups",
                 "Which tools may a client see?", "boxes", ADMINISTER),
            Room("changed_tools", "/tools/changed/", "Changed tools",
                 "What changed under us?", "diff", CURATE, CHANGED_TOOLS),
            Room("graph", "/graph/", "Tool graph",
                 "How do tools belong together?", "graph", SEARCH),
        ),
    ),
    (
        "Safety",
        (
            Room("danger", "/danger/", "Dangerous operations",
                 "What counts as dangerous?", "shield"),
            Room("speculation", "/speculation/", "Speculation",
                 "What is called ahead, is it right?", "ahead"),
            Room("learning", "/learning/", "Learning",
                 "What was learned, are its numbers right?", "learn"),
        ),
    ),
    (
        "Administration",
        (
            Room("clients", "/clients/", "Connect a client",
                 "How do I connect my client?", "plug"),
            Room("access", "/access/", "Access",
                 "Who may do what? People, roles, teams, tokens", "people", ADMINISTER),
            Room("webhooks", "/access/webhooks/", "Webhooks",
                 "Who is notified of events?", "bell", ADMINISTER),
            Room("audit", "/audit/", "Audit trail", "Who did what?", "list", ADMINISTER),
            Room("settings", "/settings/", "Settings",
                 "How is it set up?", "settings", ADMINISTER),
            Room("system", "/system/", "System",
                 "What is stored, how large is it?", "database", SCOPE_ALL),
        ),
    ),
)  # fmt: skip


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
