"""Which fields the results of tools have shown: names and types, no values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from graph.models import OutputShape
from graph.store import writing
from tools.definition import storable
from tools.models import Team

MAX_SAMPLES: Final = 2**31 - 1

Schema = Mapping[str, Any]
Merge = Callable[[Schema, Schema], Schema]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The shape of one result.

    Attributes:
        tool: Primary key.
        team: Of the caller; None: a caller without a team.
        definition_hash: Of the definition that the tool had.
        shape: JSON Schema.
    """

    tool: int
    team: int | None
    definition_hash: str
    shape: Schema


def record(seen: Sequence[Seen], *, merge: Merge, at: datetime) -> int:
    """Widen the stored shapes so that they cover what was seen; return how many changed.

    A shape of another definition is replaced. What is of a tool or team that is gone is left out.

    Args:
        seen: One result a tool and team.
        merge: Returns a schema that covers two.
        at: When.
    """

    def write() -> int:
        with transaction.atomic():
            there = _there(seen)
            return sum(_record_one(one, merge=merge, at=at) for one in there)

    return writing.retried(write)


def _there(seen: Sequence[Seen]) -> list[Seen]:
    """Leave out what is gone; in one order everywhere, so that no two block each other."""
    missing = writing.missing(one.tool for one in seen)
    teams = set(
        Team.objects.filter(pk__in={one.team for one in seen}).values_list("pk", flat=True)
    )
    there = [one for one in seen if one.tool not in missing and one.team in {None, *teams}]
    return sorted(there, key=lambda one: (one.tool, one.team or 0))


def _record_one(one: Seen, *, merge: Merge, at: datetime) -> bool:
    shape = storable(one.shape)
    row, is_new = OutputShape.objects.select_for_update().get_or_create(
        tool_id=one.tool,
        team=None if one.team is None else Team(pk=one.team),
        defaults={
            "definition_hash": one.definition_hash,
            "schema": shape,
            "last_seen_at": at,
        },
    )
    if is_new:
        return True
    is_same = row.definition_hash == one.definition_hash
    wider = storable(merge(row.schema, shape)) if is_same else shape
    has_changed = not is_same or wider != row.schema
    row.definition_hash, row.last_seen_at = one.definition_hash, at
    row.samples = min(row.samples + 1, MAX_SAMPLES) if is_same else 1
    fields = ["samples", "last_seen_at"]
    if has_changed:
        row.schema = wider
        fields += ["definition_hash", "schema"]
    row.save(update_fields=fields)
    return has_changed


def load() -> dict[tuple[int, int | None], Schema]:
    """Return the shapes seen of tools as they are defined now, by tool and team."""
    current = OutputShape.objects.values_list(
        "tool_id", "team_id", "schema", "definition_hash", "tool__definition__hash"
    )
    return {(tool, team): schema for tool, team, schema, seen, pinned in current if seen == pinned}
