"""Curate the words that make a tool dangerous, with permission checks and audit entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from gateway_project.access import audit
from gateway_project.access.roles import CURATE, require_scope
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.refusals import InvalidEntry, change_or_refuse
from tools.catalogue import Catalogue
from tools.danger import Danger, DangerMatcher, DangerPattern
from tools.store import danger
from tools.store.danger import StoredOperation

PATTERN_CONSTRAINT = "dangerous_pattern_once"
MAX_LISTED = 200
"""Tools that a preview names; the rest are counted."""


@dataclass(frozen=True, kw_only=True)
class PatternPreview:
    """What a pattern would match.

    Attributes:
        matched: Ids of the tools with a matching name or title, at most `MAX_LISTED`.
        count: How many there are.
        raised: Of the listed ones, those whose danger class would rise.
    """

    matched: tuple[str, ...]
    count: int
    raised: tuple[str, ...]


def save_operation(
    caller: Caller, values: Mapping[str, Any], *, pk: int | None = None
) -> StoredOperation:
    """Add a dangerous operation, or change one.

    Args:
        caller: The actor.
        values: `pattern`, `danger`, `reason` and `enabled`; what is missing stays as it is.
        pk: Primary key of the one to change; None: a new one.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownOperation: If there is no such one.
        InvalidEntry: If a value is invalid; nothing is stored then.
    """
    require_scope(caller, CURATE)
    try:
        with change_or_refuse():
            stored = danger.save_operation(values, pk=pk)
            verb = "registered" if pk is None else "changed"
            detail = {"changed": sorted(values)}
            audit.record_audit(caller, f"dangerousoperation.{verb}", stored.pattern, detail=detail)
    except InvalidEntry as error:
        if PATTERN_CONSTRAINT in str(error):
            message = f"there is an operation {values['pattern']!r} already; change that one"
            raise InvalidEntry(message) from None
        raise
    return stored


def delete_operation(caller: Caller, pk: int) -> None:
    """Delete a dangerous operation.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownOperation: If there is no such one.
    """
    require_scope(caller, CURATE)
    with transaction.atomic():
        pattern = danger.delete_operation(pk)
        audit.record_audit(caller, "dangerousoperation.deleted", pattern)


def preview_pattern(
    caller: Caller, catalogue: Catalogue, pattern: str, level: Danger
) -> PatternPreview:
    """Return what a pattern would match among the tools visible to the caller; stores nothing.

    Raises:
        NotPermitted: If the caller lacks the scope.
    """
    require_scope(caller, CURATE)
    matcher = DangerMatcher([DangerPattern(pattern=pattern, danger=level)])
    order = list(Danger)
    matched = [
        tool
        for _, tool in sorted(catalogue.tools.items())
        if caller.can_see(tool) and matcher.find_matches(tool.name, tool.title, tool.server)
    ]
    raised = [tool for tool in matched if order.index(tool.danger) < order.index(level)]
    return PatternPreview(
        matched=tuple(tool.tool for tool in matched[:MAX_LISTED]),
        count=len(matched),
        raised=tuple(tool.tool for tool in raised[:MAX_LISTED]),
    )
