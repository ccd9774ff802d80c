"""Approve tools whose definition is new or changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from tools.store import catalogue

if TYPE_CHECKING:
    from tools.models import Tool


def approve_tools(
    caller: Caller, tools: Iterable[Tool], *, user: Any, shown: Mapping[int, str] | None = None
) -> tuple[str, ...]:
    """Pin what their servers list now; return the ids of the tools it changed anything for.

    Args:
        caller: Who asks.
        tools: Tools to approve.
        user: Row of the person who approves.
        shown: Hash of the definition the person saw, by primary key of the tool; one that has
            changed since is left waiting.
    """
    with transaction.atomic():
        approved = catalogue.approve(tools, user=user, at=timezone.now(), shown=shown)
        for tool_id, definition_hash in approved.items():
            audit.record(caller, "tool.approved", tool_id, detail={"definition": definition_hash})
    return tuple(approved)
