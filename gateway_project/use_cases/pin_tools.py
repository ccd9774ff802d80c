"""Pin tools, which clients always list under `hybrid` exposure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from django.db import transaction

from gateway_project.access import audit
from gateway_project.access.roles import require_decision
from gateway_project.foundation.caller import Caller
from tools.store import approvals

if TYPE_CHECKING:
    from tools.models import Tool


def set_pinned(caller: Caller, tools: Collection[Tool], *, pinned: bool) -> tuple[str, ...]:
    """Pin or unpin tools, all or none, and audit it; return the ids of the changed ones.

    Args:
        caller: The actor.
        tools: Rows with their servers.
        pinned: Whether they are pinned from now on.

    Raises:
        NotPermitted: If the server of one is not the caller's team's and they are no superuser.
    """
    action = "tool.pinned" if pinned else "tool.unpinned"
    for team in {tool.server.team_id for tool in tools}:
        require_decision(caller, team)
    with transaction.atomic():
        changed = approvals.set_pinned(tools, pinned=pinned)
        for tool_id in changed:
            audit.record_audit(caller, action, tool_id)
    return changed
