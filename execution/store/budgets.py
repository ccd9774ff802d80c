"""Budgets of calls made ahead at each server, and the money reserved within them; blocking."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from execution.models import BudgetReservation, SpeculationBudget
from tools.models import Server

LEASE_S: Final = 60.0
"""Seconds after which money counts as free again if the process that reserved it is gone. Longer
than any call made ahead may take."""
KEPT_DAYS: Final = 30


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


def reserve_money(
    reservation: UUID, *, server: str, team: int | None, dollars: Decimal, at: datetime
) -> bool:
    """Reserve the price of a call; return whether the budget of the day has room for it.

    The row of the budget is locked, so any number of processes stay within it together.

    Args:
        reservation: Its id.
        server: Name of the server.
        team: Primary key of the caller's team.
        dollars: Price of the call in US dollars.
        at: The time.
    """
    with transaction.atomic():
        budget = SpeculationBudget.objects.select_for_update().filter(server__name=server).first()
        if budget is None:
            return False
        counted = (
            _select_counted(at)
            .filter(server=budget.server_id)
            .aggregate(sum=Sum("dollars"))["sum"]
        )
        if (counted or Decimal(0)) + dollars > budget.dollars_per_day:
            return False
        BudgetReservation.objects.create(
            id=reservation,
            server_id=budget.server_id,
            team_id=team,
            dollars=dollars,
            reserved_at=at,
            expires_at=at + timedelta(seconds=LEASE_S),
        )
    return True


def sum_spent(*, at: datetime) -> dict[str, Decimal]:
    """Return the US dollars spent or reserved today (UTC), by name of the server."""
    by_server = _select_counted(at).values("server__name").annotate(sum=Sum("dollars"))
    return dict(by_server.values_list("server__name", "sum"))


def _select_counted(at: datetime) -> QuerySet[BudgetReservation]:
    midnight = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return BudgetReservation.objects.filter(
        Q(spent_at__gte=midnight) | Q(spent_at__isnull=True, expires_at__gt=at)
    )


def settle_money(reservation: UUID, *, made: bool, at: datetime) -> None:
    """Settle a reservation: spent if the call was made, free again if not."""
    row = BudgetReservation.objects.filter(pk=reservation)
    if made:
        row.update(spent_at=at)
    else:
        row.delete()


def count_old_reservations(*, at: datetime) -> int:
    """Return how many reservations `delete_old_reservations` would delete."""
    return _select_old(at).count()


def delete_old_reservations(*, at: datetime) -> int:
    """Delete reservations that no longer count; return how many."""
    return _select_old(at).delete()[0]


def _select_old(at: datetime) -> QuerySet[BudgetReservation]:
    return BudgetReservation.objects.filter(reserved_at__lt=at - timedelta(days=KEPT_DAYS))
