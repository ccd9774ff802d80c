"""Waits until the catalogue in memory shows a change, so that the next page does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from gateway_project.effects import Effects
from tools.catalogue import Catalogue

TIMEOUT_S: Final = 2.0
"""Longest wait; a change usually takes 0.2 s."""
POLL_S: Final = 0.02


def wait_for_catalogue(effects: Effects, is_applied: Callable[[Catalogue], bool]) -> bool:
    """Wait until the catalogue in memory shows a change; False if it takes too long.

    Args:
        effects: Of the gateway in this process.
        is_applied: Whether a catalogue shows the change.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while not is_applied(effects.catalogue()):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
