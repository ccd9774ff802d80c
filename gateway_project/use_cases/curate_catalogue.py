"""Curate categories and settings of tools, with audit entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from gateway_project.access import audit
from gateway_project.access.roles import CURATE, require_decision, require_scope
from gateway_project.foundation.caller import Caller
from tools.store import configuration


def save_category(caller: Caller, name: str, *, description: str) -> None:
    """Add a category of tools, or describe it.

    Raises:
        NotPermitted: If the caller lacks the scope; if there is one, all teams share it, and only
            superusers change it.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    require_scope(caller, CURATE)
    with transaction.atomic():
        is_new = name not in configuration.load_categories()
        if not is_new:
            require_decision(caller, None)
        configuration.save_category(name, description=description)
        action = f"category.{'registered' if is_new else 'changed'}"
        audit.record_audit(caller, action, name, detail={"changed": ["description"]})


def delete_category(caller: Caller, name: str) -> None:
    """Delete a category, which all teams share; its tools have none then.

    Raises:
        NotPermitted: If the caller is not a superuser.
    """
    require_decision(caller, None)
    with transaction.atomic():
        configuration.delete_category(name)
        audit.record_audit(caller, "category.deleted", name)


def change_tool(caller: Caller, tool: str, values: Mapping[str, Any], *, pk: int | None) -> None:
    """Change settings of a tool.

    Args:
        caller: The actor.
        tool: Its id.
        values: New values by the names of `tools.store.configuration.TOOL_COLUMNS`, and
            `category`.
        pk: Its primary key; None: it has none.

    Raises:
        NotPermitted: If the caller lacks the scope, or the tool's server is not their team's and
            they are no superuser.
        UnknownToolRow: If there is no such tool.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    require_scope(caller, CURATE)
    with transaction.atomic():
        require_decision(caller, configuration.load_tool_team(pk))
        configuration.change_tool(pk, values)
        audit.record_audit(caller, "tool.changed", tool, detail={"changed": sorted(values)})


def change_tools(caller: Caller, tools: Mapping[str, int], values: Mapping[str, Any]) -> None:
    """Change the same settings of several tools, all or none.

    Args:
        caller: The actor.
        tools: Primary keys by id.
        values: As of `change_tool`.

    Raises:
        NotPermitted: As of `change_tool`, for any of them.
        UnknownToolRow: If there is no such tool.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    with transaction.atomic():
        for tool, pk in sorted(tools.items()):
            change_tool(caller, tool, values, pk=pk)
