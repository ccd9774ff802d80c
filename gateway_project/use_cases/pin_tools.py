"""Pin tools, which clients always list under `hybrid` exposure."""

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
    """Pin or unpin tools and audit it; return the ids of the changed ones."""
    action = "tool.pinned" if pinned else "tool.unpinned"
    with transaction.atomic():
        changed = approvals.set_pinned(tools, pinned=pinned)
        for tool_id in changed:
            audit.record_audit(caller, action, tool_id)
    return changed
