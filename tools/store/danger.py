"""Classifies stored tools by the curated dangerous operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings

from gateway_project.foundation.user_error import UserError
from tools import declared_reads
from tools.danger import (
    Danger,
    DangerMatcher,
    DangerPattern,
    DangerVerdict,
    is_call_repeatable,
)
from tools.executable_input import ExecutableInput, find_executable_input
from tools.judge_danger import NamedTool, judge_danger
from tools.models import DangerousOperation, Tool, ToolDefinition

MAX_REMEMBERED: Final = 20_000
"""Definitions whose executable input is cached, for when the catalogue is reloaded."""

_input_cache: dict[str, ExecutableInput | None] = {}


def load_patterns() -> tuple[DangerPattern, ...]:
    """Return the enabled operations, by pattern."""
    rows = DangerousOperation.objects.filter(enabled=True).order_by("pattern")
    return tuple(
        DangerPattern(
            pattern=row.pattern,
            danger=Danger(row.danger),
            reason=row.reason,
            by_admin=row.source == DangerousOperation.Source.CURATED,
        )
        for row in rows
    )


def judge_tool(tool: Tool, matcher: DangerMatcher) -> DangerVerdict:
    """Classify a stored tool by its pinned definition.

    Args:
        tool: With its server and definition loaded.
        matcher: For the enabled operations.
    """
    pinned = tool.definition
    verdict = judge_danger(
        NamedTool(name=tool.name, title=pinned.title if pinned else "", server=tool.server.name),
        matcher=matcher,
        annotations=pinned.annotations if pinned else {},
        trusted=tool.server.trusted,
        override=_danger_override(tool),
        runs=_find_executable_input(tool.name, pinned) if pinned else None,
    )
    return declared_reads.veto_unasked_calls(verdict, pinned.extras if pinned else None)


def explain_read_doubt(tool: Tool, verdict: DangerVerdict, matcher: DangerMatcher) -> str:
    """Explain why a stored tool is not taken for one that only reads; empty: it is.

    Args:
        tool: With its server and definition loaded.
        verdict: Of `judge_tool`.
        matcher: For the enabled operations.
    """
    pinned = tool.definition
    return declared_reads.explain_read_doubt(
        verdict,
        needs_trust=settings.FOREGATE.reads_need_trust,
        matcher=matcher,
        annotations=pinned.annotations if pinned else {},
        description=pinned.description if pinned else "",
        schema=pinned.input_schema if pinned else {},
    )


def _find_executable_input(name: str, pinned: ToolDefinition) -> ExecutableInput | None:
    """Return the parameter whose value a tool executes, cached by definition hash."""
    try:
        return _input_cache[pinned.hash]
    except KeyError:
        pass
    if len(_input_cache) >= MAX_REMEMBERED:
        _input_cache.pop(next(iter(_input_cache)), None)
    found = find_executable_input(name, pinned.description, pinned.input_schema)
    _input_cache[pinned.hash] = found
    return found


def is_repeatable(tool: Tool) -> bool:
    """Whether a call of a stored tool with an unknown outcome may be repeated.

    Args:
        tool: With its server and definition loaded.
    """
    pinned = tool.definition
    return is_call_repeatable(
        pinned.annotations if pinned else {},
        trusted=tool.server.trusted,
        danger_override=_danger_override(tool),
        override=tool.repeatable_override,
    )


def _danger_override(tool: Tool) -> Danger | None:
    return Danger(tool.danger_override) if tool.danger_override else None


class UnknownOperation(UserError, LookupError):
    """There is no such dangerous operation."""

    code = "unknown_operation"

    def __init__(self, pk: int) -> None:
        super().__init__(f"there is no dangerous operation {pk}")


@dataclass(frozen=True, kw_only=True)
class StoredOperation:
    """A dangerous operation.

    Attributes:
        pk: Primary key.
        pattern: Words of a tool's name or title; `^` before them: only at its beginning.
        danger: Class of the tools that match.
        reason: Why, in words.
        source: `seeded` if it came with the product, else `curated`.
        enabled: Whether it counts.
    """

    pk: int
    pattern: str
    danger: str
    reason: str
    source: str
    enabled: bool


def load_operations() -> list[StoredOperation]:
    """Return all dangerous operations, by pattern."""
    return [_make_operation(row) for row in DangerousOperation.objects.order_by("pattern")]


def load_operation(pk: int) -> StoredOperation:
    """Return one dangerous operation.

    Raises:
        UnknownOperation: If there is none.
    """
    return _make_operation(_find_row(pk))


def save_operation(values: Mapping[str, Any], *, pk: int | None = None) -> StoredOperation:
    """Add a dangerous operation, or change columns of one.

    Raises:
        UnknownOperation: If there is no such one.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    row = DangerousOperation() if pk is None else _find_row(pk)
    for column, value in values.items():
        setattr(row, column, value)
    row.full_clean()
    row.save()
    return _make_operation(row)


def delete_operation(pk: int) -> str:
    """Delete a dangerous operation; return its pattern.

    Raises:
        UnknownOperation: If there is none.
    """
    row = _find_row(pk)
    row.delete()
    return row.pattern


def _find_row(pk: int) -> DangerousOperation:
    row = DangerousOperation.objects.filter(pk=pk).first()
    if row is None:
        raise UnknownOperation(pk)
    return row


def _make_operation(row: DangerousOperation) -> StoredOperation:
    return StoredOperation(
        pk=row.pk,
        pattern=row.pattern,
        danger=row.danger,
        reason=row.reason,
        source=row.source,
        enabled=row.enabled,
    )
