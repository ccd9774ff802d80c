"""The shared graph at earlier times."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from graph.models import GraphSnapshot

KEPT: Final = 30
"""Scheduled snapshots; those that somebody asked for are kept as many again."""
SCHEDULED: Final = "scheduled"


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A snapshot without its content.

    Attributes:
        pk: Primary key.
        taken_at: When.
        digest: Of the relations.
        reason: `scheduled`, or why somebody asked for it.
        tools: Number of tools in it.
        relations: Number of relations.
        statistics: Of the graph then.
    """

    pk: int
    taken_at: datetime
    digest: str
    reason: str
    tools: int
    relations: int
    statistics: Mapping[str, Any]


def take(
    content: Mapping[str, Any],
    *,
    digest: str,
    statistics: Mapping[str, Any],
    reason: str = SCHEDULED,
    at: datetime,
) -> int:
    """Store a snapshot and return its primary key; the oldest beyond those kept go.

    Args:
        content: `tools` and `relations`, each a list, as JSON values.
        digest: Of the relations.
        statistics: Of the graph.
        reason: Why; at most 20 characters.
        at: When.
    """
    with transaction.atomic():
        row = GraphSnapshot.objects.create(
            taken_at=at,
            digest=digest,
            reason=reason,
            tools=len(content["tools"]),
            relations=len(content["relations"]),
            statistics=dict(statistics),
            content=zlib.compress(json.dumps(content, separators=(",", ":")).encode()),
        )
        stored = GraphSnapshot.objects.order_by("-taken_at", "-pk")
        for some in (stored.filter(reason=SCHEDULED), stored.exclude(reason=SCHEDULED)):
            old = some.values_list("pk", flat=True)[KEPT:]
            GraphSnapshot.objects.filter(pk__in=list(old)).delete()
    return row.pk


def last(reason: str | None = None) -> Taken | None:
    """Return the newest snapshot, or the newest for a reason."""
    return next(iter(_taken(reason, limit=1)), None)


def every() -> list[Taken]:
    """Return all snapshots, the newest first."""
    return _taken(None, limit=None)


def _taken(reason: str | None, *, limit: int | None) -> list[Taken]:
    rows = GraphSnapshot.objects.order_by("-taken_at", "-pk").defer("content")
    if reason is not None:
        rows = rows.filter(reason=reason)
    return [
        Taken(
            pk=row.pk,
            taken_at=row.taken_at,
            digest=row.digest,
            reason=row.reason,
            tools=row.tools,
            relations=row.relations,
            statistics=row.statistics,
        )
        for row in rows[:limit]
    ]


def content(pk: int) -> dict[str, Any]:
    """Return what a snapshot holds.

    Raises:
        GraphSnapshot.DoesNotExist: If there is none of this key.
    """
    packed = GraphSnapshot.objects.values_list("content", flat=True).get(pk=pk)
    unpacked: dict[str, Any] = json.loads(zlib.decompress(packed))
    return unpacked
