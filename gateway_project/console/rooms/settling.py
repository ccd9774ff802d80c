"""Waits briefly until what is in memory shows what is stored, so that a page does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final
from weakref import WeakSet

from gateway_project.effects import Effects
from graph.store import relations
from graph.topology import Topology
from tools.catalogue import Catalogue

TIMEOUT_S: Final = 2.0
"""Longest wait; a change usually takes 0.2 s."""
POLL_S: Final = 0.02
_STAYED_EMPTY: Final[WeakSet[Topology]] = WeakSet()
"""Relations that were waited for in vain: all there are may be rejected, or of other teams."""


def wait_for_catalogue(effects: Effects, is_applied: Callable[[Catalogue], bool]) -> bool:
    """Wait until the catalogue in memory shows a change; False if it takes too long.

    Args:
        effects: Of the gateway in this process.
        is_applied: Whether a catalogue shows the change.
    """
    return _wait_until(lambda: is_applied(effects.catalogue()))


def load_topology(effects: Effects, team: int | None) -> Topology:
    """Return the relations that a team sees, once they are in memory: the first look loads them.

    Args:
        effects: Of the gateway in this process.
        team: Primary key; None: callers without a team.
    """
    found = effects.topology(team)
    if not len(found) and found not in _STAYED_EMPTY and relations.has_relations():
        _wait_until(lambda: bool(len(effects.topology(team))))
        found = effects.topology(team)
        if not len(found):
            _STAYED_EMPTY.add(found)
    return found


def wait_for_relations(effects: Effects, team: int | None, before: Topology) -> bool:
    """Wait until the relations in memory are other ones; False if it takes too long.

    Args:
        effects: Of the gateway in this process.
        team: Primary key; None: callers without a team.
        before: The relations before the change.
    """
    return _wait_until(lambda: effects.topology(team) is not before)


def _wait_until(is_reached: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
