"""Curated dangerous operations."""

from __future__ import annotations

from tools.danger import Danger, Matcher, Operation, Verdict, classify, repeatable
from tools.models import DangerousOperation, Tool


def load_operations() -> tuple[Operation, ...]:
    """Return the operations that are switched on, by pattern."""
    rows = DangerousOperation.objects.filter(enabled=True).order_by("pattern")
    return tuple(
        Operation(
            pattern=row.pattern,
            danger=Danger(row.danger),
            reason=row.reason,
            by_admin=row.source == DangerousOperation.Source.CURATED,
        )
        for row in rows
    )


def judge(tool: Tool, matcher: Matcher) -> Verdict:
    """Return what a call of a stored tool may do, by its pinned definition.

    Args:
        tool: With its server and its definition loaded.
        matcher: Of the operations that are switched on.
    """
    pinned = tool.definition
    return classify(
        matcher.matching(tool.name, pinned.title if pinned else "", tool.server.name),
        annotations=pinned.annotations if pinned else {},
        trusted=tool.server.trusted,
        override=_override(tool),
    )


def is_repeatable(tool: Tool) -> bool:
    """Whether a call of a stored tool may be made again when nobody knows how it ended.

    Args:
        tool: With its server and its definition loaded.
    """
    pinned = tool.definition
    return repeatable(
        pinned.annotations if pinned else {},
        trusted=tool.server.trusted,
        danger_override=_override(tool),
        override=tool.repeatable_override,
    )


def _override(tool: Tool) -> Danger | None:
    return Danger(tool.danger_override) if tool.danger_override else None
