"""Decide which tools clients of exposure `hybrid` always see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from tools.store import approvals

if TYPE_CHECKING:
    from tools.models import Tool


def set_pinned(caller: Caller, tools: Iterable[Tool], *, pinned: bool) -> tuple[str, ...]:
    """Pin or unpin tools and write it down; return the ids of those that were not so before."""
    action = "tool.pinned" if pinned else "tool.unpinned"
    with transaction.atomic():
        changed = approvals.set_pinned(tools, pinned=pinned)
        for tool_id in changed:
            audit.record(caller, action, tool_id)
    return changed
