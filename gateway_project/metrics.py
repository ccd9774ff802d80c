"""Metrics of the whole installation: each process adds its counts, the console serves the sums.

A gateway over stdio has no port to scrape, and it ends with its client. So each process
periodically adds its increments to totals in the database, which outlive it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

import structlog
from django.db import Error as DatabaseError
from django.db import connection
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from gateway_project.foundation import canonical, telemetry
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.models import MetricTotal

SUMMED_TYPES = ("counter", "histogram")
CREATED_SUFFIX = "_created"
COUNT_SUFFIXES = ("_total", "_count")
"""Suffixes of the samples that show whether anything was counted under their labels."""
BUCKET_LABEL = "le"
"""Label of a bucket of a histogram: its upper bound."""

WRITE_INTERVAL_S = 10.0
LAST_WRITE_TIMEOUT_S = 2.0
READ_TIMEOUT_S = 2.0
"""Longest wait of a monitor for the totals; Prometheus itself gives up after 10 s by default."""

_known_totals: list[MetricTotal] = []
"""The totals that this process read last, sorted."""

log = structlog.get_logger(__name__)

SampleKey = tuple[str, str]
"""Name of a sample, and its labels as canonical JSON."""

_ADD_SQL = """
INSERT INTO gateway_project_metrictotal AS total (name, labels, value)
SELECT * FROM unnest(%s::text[], %s::jsonb[], %s::float8[])
ON CONFLICT (name, labels) DO UPDATE SET value = total.value + excluded.value
"""


def collect_counts() -> dict[SampleKey, float]:
    """Return the counts of this process since its start.

    A histogram with any observation includes its empty buckets: without them a monitor would
    assume that the first bucket starts at zero.
    """
    return {
        (sample.name, canonical.dumps(sample.labels)): sample.value
        for metric in telemetry.registry.collect()
        if metric.type in SUMMED_TYPES
        for sample in _iterate_used_samples(metric)
    }


def _iterate_used_samples(metric: Metric) -> Iterator[Sample]:
    used = [
        _series_labels(s.labels)
        for s in metric.samples
        if s.name.endswith(COUNT_SUFFIXES) and s.value
    ]
    for sample in metric.samples:
        if not sample.name.endswith(CREATED_SUFFIX) and _series_labels(sample.labels) in used:
            yield sample


def _series_labels(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name != BUCKET_LABEL}


def add_totals(before: Mapping[SampleKey, float], now: Mapping[SampleKey, float]) -> None:
    """Add the increments between two collections to the totals.

    Args:
        before: An earlier `collect_counts()` of this process, empty at first.
        now: A later one.
    """
    increments = {
        key: value - before.get(key, 0.0)
        for key, value in now.items()
        if value != before.get(key)  # a new sample is written even if it is an empty bucket
    }
    # In the same order everywhere, so that two processes cannot deadlock.
    rows = sorted((name, labels, value) for (name, labels), value in increments.items())
    if not rows:
        return
    names, labels, values = zip(*rows, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_ADD_SQL, [list(names), list(labels), list(values)])


def load_total(sample: str, **labels: str) -> float:
    """Return a total of all processes; 0 if nothing was counted.

    Args:
        sample: Name of the sample, such as `foregate_calls_total`.
        labels: All of its labels.
    """
    row = MetricTotal.objects.filter(name=sample, labels=labels).first()
    return row.value if row else 0.0


async def write_totals_periodically() -> None:
    """Add this process's counts to the totals periodically, and once more when cancelled.

    While the database is away, the counts accumulate in memory.
    """
    written: dict[SampleKey, float] = {}
    stopping = False
    while not stopping:
        try:
            await asyncio.sleep(WRITE_INTERVAL_S)
        except asyncio.CancelledError:
            stopping = True
        now = collect_counts()
        try:
            async with asyncio.timeout(LAST_WRITE_TIMEOUT_S if stopping else None):
                await run_in_database_thread(add_totals, written, now)
            written = now
        except (DatabaseError, TimeoutError) as error:
            log.warning("metrics.write_failed", error=summarize_error(error))
    raise asyncio.CancelledError


async def expose_known_metrics(*, is_database_away: bool) -> bytes:
    """Return the metrics without waiting for a database that is away.

    The totals are then those that this process read last: others would look like a restart to a
    monitor. Before it has read any, only gauges are returned.

    Args:
        is_database_away: Whether it is known to be away, so that it is not asked at all.
    """
    if not is_database_away:
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                return await run_in_database_thread(expose_metrics)
        except (DatabaseError, TimeoutError) as error:
            log.warning("metrics.read_failed", error=summarize_error(error))
    return _format_metrics(_known_totals)


def expose_metrics() -> bytes:
    """Return totals and gauges in the Prometheus text format."""
    _known_totals[:] = sorted(MetricTotal.objects.all(), key=_sort_key)
    return _format_metrics(_known_totals)


def _format_metrics(totals: Sequence[MetricTotal]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_TotalsCollector(tuple(totals)))
    return generate_latest(registry)


class _TotalsCollector:
    """Collects the totals of all processes and the gauges of this one."""

    def __init__(self, totals: Sequence[MetricTotal]) -> None:
        self._totals = totals

    def collect(self) -> Iterator[Metric]:
        """Yield one family per metric, with the samples of all processes."""
        for family in telemetry.registry.collect():
            if family.type not in SUMMED_TYPES:
                yield family
                continue
            summed = Metric(family.name, family.documentation, family.type)
            for row in _filter_family(family.name, self._totals):
                summed.add_sample(row.name, row.labels, row.value)
            yield summed


def _sort_key(row: MetricTotal) -> tuple[str, str, float]:
    """Sort buckets by their bounds, as the text format requires."""
    bound = float(row.labels.get(BUCKET_LABEL, 0.0))
    return row.name, canonical.dumps(_series_labels(row.labels)), bound


def _filter_family(family: str, totals: Iterable[MetricTotal]) -> Iterator[MetricTotal]:
    suffixes = ("_total", "_bucket", "_sum", "_count")
    names = {f"{family}{suffix}" for suffix in suffixes}
    return (row for row in totals if row.name in names)
