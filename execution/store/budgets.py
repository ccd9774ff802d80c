"""What admins allow to be called ahead at each server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution.models import SpeculationBudget
from tools.models import Server


def load_team(server: str) -> int | None:
    """Return the team that owns a server; None: it is shared, or there is no such server."""
    owner: int | None = Server.objects.filter(name=server).values_list("team", flat=True).first()
    return owner


def save_budget(server: str, values: Mapping[str, Any]) -> bool:
    """Set the budget of a server, within a transaction; return whether it had none.

    The server's row is locked, so that two first budgets at once become one after the other.

    Args:
        server: Its name.
        values: `waste`, `calls_per_minute` and `dollars_per_day`.

    Raises:
        LookupError: If there is no such server.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    owner = Server.objects.select_for_update(no_key=True).filter(name=server).first()
    if owner is None:
        raise LookupError(server)
    row = SpeculationBudget.objects.filter(server=owner).first()
    is_new = row is None
    if row is None:
        row = SpeculationBudget(server=owner)
    for column, value in values.items():
        setattr(row, column, value)
    row.full_clean()
    row.save()
    return is_new


def delete_budget(server: str) -> bool:
    """Let the defaults apply to a server again; return whether it had a budget."""
    deleted, _ = SpeculationBudget.objects.filter(server__name=server).delete()
    return bool(deleted)
