"""The stored metrics of tools: computed by one process, read by all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Final

from django.db import connection, transaction

from gateway_project.foundation import notify
from graph.models import ToolMetric
from graph.record import Metric
from graph.store import writing

NOTICE: Final = "metrics"
"""What every process is told on the channel of the graph when they have changed."""
CHUNK_ROWS: Final = 2_000

_WRITE = """
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


def load() -> dict[int, Metric]:
    """Return the metrics of every tool that has any, by its primary key."""
    rows = ToolMetric.objects.values_list(
        "tool_id", "pagerank", "community", "betweenness", "closeness"
    )
    return {row[0]: Metric._make(row[1:]) for row in rows}


def replace(metrics: Mapping[int, Metric]) -> int:
    """Store these metrics and no others; return how many rows were written or deleted.

    Tools that are gone are left out. Where anything changed, every process is told.
    """
    with transaction.atomic():
        changed, _ = ToolMetric.objects.exclude(tool__in=list(metrics)).delete()
        gone = writing.missing(metrics)
        remaining = iter(sorted((tool, metrics[tool]) for tool in metrics.keys() - gone))
        with connection.cursor() as cursor:
            while chunk := list(islice(remaining, CHUNK_ROWS)):
                rows = [{"tool": tool, **metric._asdict()} for tool, metric in chunk]
                cursor.execute(_WRITE, [json.dumps(rows)])
                changed += cursor.rowcount
        if changed:
            notify.send(notify.GRAPH, NOTICE)
    return changed
