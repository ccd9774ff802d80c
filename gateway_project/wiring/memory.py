"""Builds what a process remembers of its callers."""

from __future__ import annotations

from gateway_project.foundation.sealing import Sealer
from learning.memory.capture import Capture
from learning.sessions.registry import SessionRegistry


def make_memory(capture: Capture, *, sealer: Sealer) -> SessionRegistry:
    """Return the sessions of this process.

    Args:
        capture: Records their events.
        sealer: Makes keyed digests.
    """
    return SessionRegistry(record=capture.record, digest=sealer.digest)
