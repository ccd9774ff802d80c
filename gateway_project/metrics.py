"""Metrics of the whole installation: each process adds its counts, the console shows the sums.

A gateway over stdio has no port that a monitor could scrape, and it ends with its client. So
processes write what they counted since the last time to the database, and totals outlive them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping

import structlog
from django.db import Error as DatabaseError
from django.db import connection
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from gateway_project.foundation import canonical, telemetry
from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from gateway_project.models import MetricTotal

ADDED_UP = ("counter", "histogram")
UNWANTED = "_created"
COUNTS = ("_total", "_count")
"""Endings of the samples that say whether anything was counted under their labels."""
BUCKET = "le"
"""Label of a bucket of a histogram: its upper bound."""

EVERY_S = 10.0
LAST_WRITE_S = 2.0

log = structlog.get_logger(__name__)

Key = tuple[str, str]
"""Name of a sample, and its labels as canonical JSON."""

_ADD = """
INSERT INTO gateway_project_metrictotal AS total (name, labels, value)
SELECT * FROM unnest(%s::text[], %s::jsonb[], %s::float8[])
ON CONFLICT (name, labels) DO UPDATE SET value = total.value + excluded.value
"""


def counted() -> dict[Key, float]:
    """Return what this process has counted since it started.

    A histogram that saw anything is whole, empty buckets included: without them a monitor would
    take the first bucket to begin at zero.
    """
    return {
        (sample.name, canonical.dumps(sample.labels)): sample.value
        for metric in telemetry.registry.collect()
        if metric.type in ADDED_UP
        for sample in _used(metric)
    }


def _used(metric: Metric) -> Iterator[Sample]:
    used = [_series(s.labels) for s in metric.samples if s.name.endswith(COUNTS) and s.value]
    for sample in metric.samples:
        if not sample.name.endswith(UNWANTED) and _series(sample.labels) in used:
            yield sample


def _series(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name != BUCKET}


def add(before: Mapping[Key, float], now: Mapping[Key, float]) -> None:
    """Add to the totals what was counted between two moments.

    Args:
        before: An earlier `counted()` of this process, empty at first.
        now: A later one.
    """
    grown = {
        key: value - before.get(key, 0.0)
        for key, value in now.items()
        if value != before.get(key)  # what is new is written even if it is an empty bucket
    }
    # In one order everywhere, so that two processes cannot block each other.
    rows = sorted((name, labels, value) for (name, labels), value in grown.items())
    if not rows:
        return
    names, labels, values = zip(*rows, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [list(names), list(labels), list(values)])


async def keep_totals() -> None:
    """Add what this process counts to the totals until cancelled, and once more then.

    While the database is away the counts wait in memory.
    """
    written: dict[Key, float] = {}
    stopping = False
    while not stopping:
        try:
            await asyncio.sleep(EVERY_S)
        except asyncio.CancelledError:
            stopping = True
        now = counted()
        try:
            async with asyncio.timeout(LAST_WRITE_S if stopping else None):
                await in_database(add, written, now)
            written = now
        except (DatabaseError, TimeoutError) as error:
            log.warning("metrics.not_written", error=first_line(error))
    raise asyncio.CancelledError


def exposition() -> bytes:
    """Return totals and gauges in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Totals())
    return generate_latest(registry)


class _Totals:
    """Collects the totals in the database, and the gauges of this process."""

    def collect(self) -> Iterator[Metric]:
        """Yield one family a metric, with the samples of all processes."""
        totals = sorted(MetricTotal.objects.all(), key=_place)
        for family in telemetry.registry.collect():
            if family.type not in ADDED_UP:
                yield family
                continue
            summed = Metric(family.name, family.documentation, family.type)
            for row in _of(family.name, totals):
                summed.add_sample(row.name, row.labels, row.value)
            yield summed


def _place(row: MetricTotal) -> tuple[str, str, float]:
    """Sort buckets by their bounds, as the text format asks for."""
    bound = float(row.labels.get(BUCKET, 0.0))
    return row.name, canonical.dumps(_series(row.labels)), bound


def _of(family: str, totals: Iterable[MetricTotal]) -> Iterator[MetricTotal]:
    suffixes = ("_total", "_bucket", "_sum", "_count")
    names = {f"{family}{suffix}" for suffix in suffixes}
    return (row for row in totals if row.name in names)
