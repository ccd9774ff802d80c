"""Curated dangerous operations."""

from __future__ import annotations

from tools.danger import Danger, Operation
from tools.models import DangerousOperation


def load_operations() -> tuple[Operation, ...]:
    """Return the operations that are switched on, by pattern."""
    rows = DangerousOperation.objects.filter(enabled=True).order_by("pattern")
    return tuple(
        Operation(pattern=row.pattern, danger=Danger(row.danger), reason=row.reason)
        for row in rows
    )
