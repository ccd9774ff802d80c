"""Limit what is called ahead at a server, with audit entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from execution.store import budgets
from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER, require_decision, require_scope
from gateway_project.foundation.caller import Caller


def save_budget(caller: Caller, server: str, values: Mapping[str, Any]) -> None:
    """Set the budget of a server.

    Args:
        caller: The actor.
        server: Its name.
        values: `waste`, `calls_per_minute` and `dollars_per_day`.

    Raises:
        NotPermitted: If the caller lacks the scope, or the server is not their team's and they
            are no superuser.
        LookupError: If there is no such server.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    require_scope(caller, ADMINISTER)
    with transaction.atomic():
        require_decision(caller, budgets.load_team(server))
        is_new = budgets.save_budget(server, values)
        action = f"speculation_budget.{'registered' if is_new else 'changed'}"
        audit.record_audit(
            caller, action, f"budget of {server}", detail={"changed": sorted(values)}
        )


def delete_budget(caller: Caller, server: str) -> None:
    """Let the defaults apply to a server again.

    Raises:
        NotPermitted: As of `save_budget`.
    """
    require_scope(caller, ADMINISTER)
    with transaction.atomic():
        require_decision(caller, budgets.load_team(server))
        if budgets.delete_budget(server):
            audit.record_audit(caller, "speculation_budget.deleted", f"budget of {server}")
