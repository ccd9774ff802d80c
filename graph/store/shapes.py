"""Stored shapes of tools' results: names and types of fields, no values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from graph.models import OutputShape
from graph.store import writing
from tools.definition import make_storable
from tools.models import Team

MAX_SAMPLES: Final = 2**31 - 1

Schema = Mapping[str, Any]
MergeShapes = Callable[[Schema, Schema], Schema]


@dataclass(frozen=True, kw_only=True)
class ObservedShape:
    """The shape of one result.

    Attributes:
        team: Of the caller; None: a caller without a team.
        definition_hash: Hash of the tool's definition at that time.
    """

    tool: int
    team: int | None
    definition_hash: str
    shape: Schema


def record_shapes(observed: Sequence[ObservedShape], *, merge: MergeShapes, at: datetime) -> int:
    """Widen the stored shapes to cover observed ones; return how many changed.

    A shape of another definition is replaced. Shapes of deleted tools or teams are skipped.
    """

    def write() -> int:
        with transaction.atomic():
            present = _keep_existing(observed)
            return sum(_record_shape(item, merge=merge, at=at) for item in present)

    return writing.retry_on_conflict(write)


def _keep_existing(observed: Sequence[ObservedShape]) -> list[ObservedShape]:
    """Drop shapes of deleted tools and teams; sort the rest so that writers cannot deadlock."""
    missing = writing.find_missing(item.tool for item in observed)
    teams = set(
        Team.with_private.filter(pk__in={item.team for item in observed}).values_list(
            "pk", flat=True
        )
    )
    present = [
        item for item in observed if item.tool not in missing and item.team in {None, *teams}
    ]
    return sorted(present, key=lambda item: (item.tool, item.team or 0))


def _record_shape(observed: ObservedShape, *, merge: MergeShapes, at: datetime) -> bool:
    shape = make_storable(observed.shape)
    row, is_new = OutputShape.objects.select_for_update().get_or_create(
        tool_id=observed.tool,
        team=None if observed.team is None else Team(pk=observed.team),
        defaults={
            "definition_hash": observed.definition_hash,
            "schema": shape,
            "last_seen_at": at,
        },
    )
    if is_new:
        return True
    is_same = row.definition_hash == observed.definition_hash
    wider = make_storable(merge(row.schema, shape)) if is_same else shape
    has_changed = not is_same or wider != row.schema
    row.definition_hash, row.last_seen_at = observed.definition_hash, at
    row.samples = min(row.samples + 1, MAX_SAMPLES) if is_same else 1
    fields = ["samples", "last_seen_at"]
    if has_changed:
        row.schema = wider
        fields += ["definition_hash", "schema"]
    row.save(update_fields=fields)
    return has_changed


def load_shapes() -> dict[tuple[int, int | None], Schema]:
    """Return the shapes observed for current definitions, by tool and team."""
    current = OutputShape.objects.values_list(
        "tool_id", "team_id", "schema", "definition_hash", "tool__definition__hash"
    )
    return {
        (tool, team): schema
        for tool, team, schema, observed_for, pinned in current
        if observed_for == pinned
    }
