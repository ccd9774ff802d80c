"""Writers of several processes, each on a connection of its own."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from gateway_project.foundation.database import run_in_database_thread
from graph.models import ToolUsage
from graph.record import CallCount, RelationClaim, RelationObservation
from graph.relations import RelationKind
from graph.store import relations, usage, writing
from tests.factories import ToolFactory
from tools.models import Tool

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
WRITERS = 4
ROUNDS = 8


def seen(source, target, kind=RelationKind.PRECEDES):
    return RelationObservation(source=source, target=target, kind=kind, successes=1.0, at=NOW)


async def all_at_once(*works):
    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(run_in_database_thread(work))


async def test_no_observation_is_lost_where_several_observe_at_once():
    tools = [tool.pk for tool in await run_in_database_thread(ToolFactory.create_batch, 6)]
    pairs = [(a, b) for a in tools for b in tools if a != b]

    def observe(order):
        def work():
            for _ in range(ROUNDS):
                relations.observe_relations(None, [seen(a, b) for a, b in order])

        return work

    await all_at_once(*(observe(pairs[::step]) for step in (1, -1, 1, -1)))
    stored = await run_in_database_thread(relations.load)
    assert len(stored) == len(pairs)
    assert {one.evidence[0].successes for one in stored} == {float(WRITERS * ROUNDS)}


async def test_concurrent_counting_loses_no_call():
    tools = [tool.pk for tool in await run_in_database_thread(ToolFactory.create_batch, 5)]

    def count(order):
        def work():
            for _ in range(ROUNDS):
                usage.add_usage({(tool, None): CallCount(2, 1) for tool in order}, at=NOW)

        return work

    await all_at_once(*(count(tools[::step]) for step in (1, -1, 1, -1)))
    rows = await run_in_database_thread(
        lambda: list(ToolUsage.objects.values_list("calls", "failures"))
    )
    assert rows == [(2 * WRITERS * ROUNDS, WRITERS * ROUNDS)] * len(tools)


async def test_concurrent_derivation_stores_relations_once():
    tools = [tool.pk for tool in await run_in_database_thread(ToolFactory.create_batch, 12)]
    claims = [
        RelationClaim(source=a, target=b, kind=RelationKind.PROVIDES, confidence=0.5)
        for a in tools
        for b in tools
        if a != b
    ]
    await all_at_once(*[lambda: relations.replace_derived(claims, at=NOW)] * WRITERS)
    stored = await run_in_database_thread(relations.load)
    assert len(stored) == len(claims)
    assert {len(one.evidence) for one in stored} == {1}


async def test_tools_that_go_while_they_are_observed_harm_nothing():
    tools = [tool.pk for tool in await run_in_database_thread(ToolFactory.create_batch, 8)]
    staying, going = tools[:4], tools[4:]
    pairs = [(a, b) for a in tools for b in tools if a != b]

    def observe():
        for _ in range(ROUNDS):
            relations.observe_relations(None, [seen(a, b) for a, b in pairs])

    def delete():
        for pk in going:
            writing.retry_on_conflict(Tool.objects.get(pk=pk).delete)

    await all_at_once(observe, delete)
    await run_in_database_thread(observe)
    stored = await run_in_database_thread(relations.load)
    assert {one.key[:2] for one in stored} == {(a, b) for a in staying for b in staying if a != b}


async def test_decay_and_sum_do_not_depend_on_writer_order():
    a, b = [tool.pk for tool in await run_in_database_thread(ToolFactory.create_batch, 2)]
    moments = [NOW + timedelta(days=10 * day) for day in range(4)]

    def observe(at):
        one = RelationObservation(
            source=a, target=b, kind=RelationKind.PRECEDES, successes=1.0, at=at
        )
        return lambda: relations.observe_relations(None, [one])

    await all_at_once(*map(observe, moments))
    ((one,),) = [found.evidence for found in await run_in_database_thread(relations.load)]
    expected = sum(0.5 ** (10 * days / 30) for days in range(4))
    assert one.successes == pytest.approx(expected)
    assert one.last_seen == moments[-1]


def test_a_conflict_with_another_writer_is_retried(monkeypatch):
    failures = [OperationalError(), OperationalError()]
    for failure in failures:
        failure.__cause__ = writing.psycopg.errors.DeadlockDetected()

    def work():
        if failures:
            raise failures.pop()
        return "done"

    assert writing.retry_on_conflict(work) == "done"


def test_other_errors_are_not_retried():
    calls = []

    def work():
        calls.append(1)
        raise OperationalError("the disk is full")

    with pytest.raises(DatabaseError, match="disk"):
        writing.retry_on_conflict(work)
    assert calls == [1]


def test_nothing_is_retried_within_a_transaction():
    calls = []

    def work():
        calls.append(connection.in_atomic_block)
        raise OperationalError from writing.psycopg.errors.DeadlockDetected()

    with transaction.atomic(), pytest.raises(OperationalError):
        writing.retry_on_conflict(work)
    assert calls == [True]
