"""Stored snapshots of the shared graph."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from graph.models import GraphSnapshot

MAX_SNAPSHOTS: Final = 30
"""Scheduled snapshots that are kept; as many requested ones are kept besides."""
SCHEDULED_REASON: Final = "scheduled"


@dataclass(frozen=True, kw_only=True)
class SnapshotHeader:
    """A snapshot without its content.

    Attributes:
        pk: Primary key.
        taken_at: When it was taken.
        digest: Digest of the relations.
        reason: `scheduled`, or why it was requested.
        tools: Number of tools.
        relations: Number of relations.
        statistics: Statistics of the graph at that time.
    """

    pk: int
    taken_at: datetime
    digest: str
    reason: str
    tools: int
    relations: int
    statistics: Mapping[str, Any]


def store_snapshot(
    content: Mapping[str, Any],
    *,
    digest: str,
    statistics: Mapping[str, Any],
    reason: str = SCHEDULED_REASON,
    at: datetime,
) -> int:
    """Store a snapshot, delete the oldest ones past `MAX_SNAPSHOTS`; return its primary key.

    Args:
        content: `tools` and `relations`, each a list, as JSON values.
        digest: Digest of the relations.
        statistics: Statistics of the graph.
        reason: At most 20 characters.
        at: When it was taken.
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
        for group in (
            stored.filter(reason=SCHEDULED_REASON),
            stored.exclude(reason=SCHEDULED_REASON),
        ):
            old = group.values_list("pk", flat=True)[MAX_SNAPSHOTS:]
            GraphSnapshot.objects.filter(pk__in=list(old)).delete()
    return row.pk


def load_newest(reason: str | None = None) -> SnapshotHeader | None:
    """Return the newest snapshot, of all or with one reason."""
    return next(iter(_load_snapshot_headers(reason, limit=1)), None)


def load_headers() -> list[SnapshotHeader]:
    """Return all snapshots, the newest first."""
    return _load_snapshot_headers(None, limit=None)


def _load_snapshot_headers(reason: str | None, *, limit: int | None) -> list[SnapshotHeader]:
    rows = GraphSnapshot.objects.order_by("-taken_at", "-pk").defer("content")
    if reason is not None:
        rows = rows.filter(reason=reason)
    return [
        SnapshotHeader(
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


def load_content(pk: int) -> dict[str, Any]:
    """Return the content of a snapshot.

    Raises:
        GraphSnapshot.DoesNotExist: If there is no such snapshot.
    """
    compressed = GraphSnapshot.objects.values_list("content", flat=True).get(pk=pk)
    content: dict[str, Any] = json.loads(zlib.decompress(compressed))
    return content
