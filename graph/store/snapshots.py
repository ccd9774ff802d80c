"""Stored snapshots of the shared graph."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from graph.models import GraphSnapshot

MAX_SNAPSHOTS: Final = 30
"""Scheduled snapshots that are kept; as many requested ones are kept besides."""
SCHEDULED_REASON: Final = "scheduled"

SnapshotHeader = GraphSnapshot
"""A snapshot whose content is not loaded."""


def store_snapshot(
    content: Mapping[str, Any],
    *,
    digest: str,
    statistics: Mapping[str, Any],
    reason: str = SCHEDULED_REASON,
    at: datetime,
) -> int:
    """Store a snapshot, delete the oldest ones past `MAX_SNAPSHOTS`; return its primary key."""
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


def load_newest_scheduled() -> SnapshotHeader | None:
    """Return the newest scheduled snapshot, without its content."""
    return next((one for one in load_headers() if one.reason == SCHEDULED_REASON), None)


def load_headers() -> list[SnapshotHeader]:
    """Return all snapshots without their contents, the newest first."""
    return list(GraphSnapshot.objects.order_by("-taken_at", "-pk").defer("content"))


def load_content(pk: int) -> dict[str, Any]:
    """Return the content of a snapshot.

    Raises:
        GraphSnapshot.DoesNotExist: If there is no such snapshot.
    """
    compressed = GraphSnapshot.objects.values_list("content", flat=True).get(pk=pk)
    content: dict[str, Any] = json.loads(zlib.decompress(compressed))
    return content
