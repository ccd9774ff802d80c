"""Stored metrics of tools: computed by one process, read by all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Final

from django.db import connection, transaction

from gateway_project.foundation import notify
from graph.models import ToolMetric
from graph.record import GraphMetric
from graph.store import writing

CHANGE_NOTICE: Final = "metrics"
"""Notification on the graph channel when metrics have changed."""
CHUNK_ROWS: Final = 2_000

_UPSERT_METRICS = """
INSERT INTO graph_toolmetric AS known (tool_id, pagerank, community, betweenness, closeness)
SELECT given.*
FROM json_to_recordset(%s) AS given (
    tool bigint, pagerank float8, community int, betweenness float8, closeness float8
)
ON CONFLICT (tool_id) DO UPDATE SET
    pagerank = excluded.pagerank, community = excluded.community,
    betweenness = excluded.betweenness, closeness = excluded.closeness
WHERE (known.pagerank, known.community, known.betweenness, known.closeness)
      IS DISTINCT FROM (excluded.pagerank, excluded.community, excluded.betweenness,
                        excluded.closeness)
"""


def load_metrics() -> dict[int, GraphMetric]:
    """Return all stored metrics, by primary key of the tool."""
    rows = ToolMetric.objects.values_list(
        "tool_id", "pagerank", "community", "betweenness", "closeness"
    )
    return {row[0]: GraphMetric._make(row[1:]) for row in rows}


def replace_metrics(metrics: Mapping[int, GraphMetric]) -> int:
    """Store these metrics and no others; return how many rows were written or deleted.

    Deleted tools are skipped. If anything changed, every process is notified.
    """
    with transaction.atomic():
        changed, _ = ToolMetric.objects.exclude(tool__in=list(metrics)).delete()
        missing = writing.find_missing(metrics)
        remaining = iter(sorted((tool, metrics[tool]) for tool in metrics.keys() - missing))
        with connection.cursor() as cursor:
            while chunk := list(islice(remaining, CHUNK_ROWS)):
                rows = [{"tool": tool, **metric._asdict()} for tool, metric in chunk]
                cursor.execute(_UPSERT_METRICS, [json.dumps(rows)])
                changed += cursor.rowcount
        if changed:
            notify.send_notification(notify.GRAPH, CHANGE_NOTICE)
    return changed
