import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from gateway_project import metrics
from gateway_project.foundation import telemetry
from gateway_project.models import MetricTotal

BOUNDS = ("0.5", "1.0", "10.0", "+Inf")


class Process:
    """What one process counts, in a registry of its own."""

    def __init__(self):
        self.registry = CollectorRegistry()
        self.calls = Counter("calls_total", "Calls.", ["server"], registry=self.registry)
        self.seconds = Histogram(
            "call_seconds", "Time.", ["server"], buckets=(0.5, 1, 10), registry=self.registry
        )
        self.plain = Histogram("seconds", "Time.", buckets=(1,), registry=self.registry)
        self.tools = Gauge("tools", "Tools.", registry=self.registry)


@pytest.fixture
def become(monkeypatch):
    """Return a function that makes this process another one."""

    def switch(process):
        monkeypatch.setattr(telemetry, "registry", process.registry)
        return process

    return switch


@pytest.fixture
def process(become):
    return become(Process())


def shown():
    """Return what a monitor reads: value by name and labels, in the order it stands there."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.expose_metrics().decode())
        for sample in family.samples
    }


def test_counting_starts_at_nothing(process):
    process.calls.labels("git")
    process.seconds.labels("git")
    assert metrics.collect_counts() == {}


def test_a_histogram_is_counted_with_its_empty_buckets(process):
    process.seconds.labels("git").observe(2)
    process.seconds.labels("time")
    counted = metrics.collect_counts()
    buckets = {bound: counted["call_seconds_bucket", bucket(bound)] for bound in BOUNDS}
    assert buckets == {"0.5": 0, "1.0": 0, "10.0": 1, "+Inf": 1}
    assert counted["call_seconds_sum", '{"server":"git"}'] == 2
    assert len(counted) == len(BOUNDS) + 2


def bucket(bound, server="git"):
    return f'{{"le":"{bound}","server":"{server}"}}'


@pytest.mark.django_db
def test_totals_add_up_over_processes(become):
    for count in (2, 3):
        process = become(Process())
        process.calls.labels("git").inc(count)
        process.calls.labels("time").inc()
        metrics.add_totals({}, metrics.collect_counts())
    assert shown()["calls_total", "git"] == 5
    assert shown()["calls_total", "time"] == 2


@pytest.mark.django_db
def test_counts_are_not_added_twice(process):
    process.calls.labels("git").inc()
    before = metrics.collect_counts()
    metrics.add_totals({}, before)
    process.calls.labels("git").inc(4)
    metrics.add_totals(before, metrics.collect_counts())
    assert shown()["calls_total", "git"] == 5


@pytest.mark.django_db
def test_only_samples_that_grew_are_written(process, django_assert_num_queries):
    process.calls.labels("git").inc()
    process.calls.labels("time").inc()
    process.seconds.labels("git").observe(2)
    before = metrics.collect_counts()
    metrics.add_totals({}, before)
    MetricTotal.objects.all().delete()
    with django_assert_num_queries(0):
        metrics.add_totals(before, metrics.collect_counts())
    process.calls.labels("git").inc()
    process.seconds.labels("git").observe(2)
    with django_assert_num_queries(1):
        metrics.add_totals(before, metrics.collect_counts())
    written = {(row.name, *row.labels.values()) for row in MetricTotal.objects.all()}
    assert written == {
        ("calls_total", "git"),
        ("call_seconds_bucket", "10.0", "git"),
        ("call_seconds_bucket", "+Inf", "git"),
        ("call_seconds_sum", "git"),
        ("call_seconds_count", "git"),
    }


@pytest.mark.django_db
def test_a_histogram_keeps_its_buckets_in_the_order_of_their_bounds(become):
    for server in ("time", "git"):
        process = become(Process())
        process.seconds.labels(server).observe(0.7)
        process.seconds.labels(server).observe(20)
        process.plain.observe(0.1)
        metrics.add_totals({}, metrics.collect_counts())
    found = shown()
    buckets = [(key, value) for key, value in found.items() if key[0] == "call_seconds_bucket"]
    counts = (0, 1, 1, 2)
    assert buckets == [
        (("call_seconds_bucket", bound, server), count)
        for server in ("git", "time")
        for bound, count in zip(BOUNDS, counts, strict=True)
    ]
    assert found["call_seconds_count", "git"] == 2
    assert found["call_seconds_sum", "git"] == pytest.approx(20.7)
    assert (found["seconds_bucket", "1.0"], found["seconds_count",]) == (2, 2)


@pytest.mark.django_db
def test_a_gauge_is_that_of_this_process(become):
    for count in (5, 7):
        process = become(Process())
        process.tools.set(count)
        process.calls.labels("git").inc()
        metrics.add_totals({}, metrics.collect_counts())
    assert shown()["tools",] == 7
    assert not MetricTotal.objects.filter(name="tools").exists()


@pytest.mark.django_db
def test_totals_of_removed_metrics_are_not_shown(process):
    MetricTotal.objects.create(name="gone_total", labels={}, value=1)
    assert "gone" not in str(shown())


def names_in(text):
    return {
        sample.name
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


@pytest.mark.django_db(transaction=True)
async def test_totals_read_last_are_served_while_the_database_is_away(process, monkeypatch):
    process.calls.labels("git").inc()
    process.tools.set(7)
    await sync_to_async(metrics.add_totals)({}, metrics.collect_counts())
    monkeypatch.setattr(metrics, "_known_totals", [])

    async def fail(_):
        raise OperationalError("gone")

    monkeypatch.setattr(metrics, "run_in_database_thread", fail)
    assert names_in(await metrics.expose_known_metrics(is_database_away=False)) == {"tools"}
    await sync_to_async(metrics.expose_metrics)()
    for is_away in (False, True):
        told = names_in(await metrics.expose_known_metrics(is_database_away=is_away))
        assert told == {"tools", "calls_total"}


async def test_a_database_that_does_not_answer_holds_no_monitor_up(process, monkeypatch):
    async def never(_):
        await asyncio.Event().wait()

    process.tools.set(7)
    monkeypatch.setattr(metrics, "READ_TIMEOUT_S", 0.01)
    monkeypatch.setattr(metrics, "run_in_database_thread", never)
    assert b"tools 7" in await metrics.expose_known_metrics(is_database_away=False)
