import asyncio
import select
import threading

import pytest
from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)
from psycopg.errors import (
    IdleInTransactionSessionTimeout,
    ProgramLimitExceeded,
    ReadOnlySqlTransaction,
    TransactionTimeout,
)

from gateway_project.foundation import database, telemetry
from gateway_project.foundation.database import (
    describe_write_obstacle,
    find_write_obstacle,
    is_database_away,
    run_in_database_thread,
)
from tests.patience import PATIENCE_S

# The threads look after their connections before every call, whatever it does.
pytestmark = pytest.mark.django_db


def backend_pid():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


async def test_the_result_and_the_arguments_pass_through():
    assert await run_in_database_thread(divmod, 17, 5) == (3, 2)
    assert await run_in_database_thread(sorted, "bca", reverse=True) == ["c", "b", "a"]


async def test_an_error_of_the_function_is_raised_to_the_caller():
    with pytest.raises(KeyError, match="lost"):
        await run_in_database_thread({}.__getitem__, "lost")


async def test_the_function_runs_on_a_database_thread_not_on_the_loops():
    name = await run_in_database_thread(lambda: threading.current_thread().name)
    assert name.startswith("database")


async def test_request_context_is_available_on_the_database_thread():
    with telemetry.bind_request_id("abc"):
        assert await run_in_database_thread(telemetry.current_request_id) == "abc"
    assert await run_in_database_thread(telemetry.current_request_id) == ""


async def test_several_queries_run_side_by_side():
    together = threading.Barrier(database.MAX_THREADS, timeout=PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for _ in range(database.MAX_THREADS):
            group.create_task(run_in_database_thread(together.wait))


async def everywhere(function):
    """Run a function once on each of the database threads."""
    together = threading.Barrier(database.MAX_THREADS, timeout=PATIENCE_S)

    def at_once():
        together.wait()
        return function()

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run_in_database_thread(at_once)) for _ in range(database.MAX_THREADS)
        ]
    return [task.result() for task in tasks]


@pytest.mark.django_db(transaction=True)
async def test_a_thread_keeps_its_connection_between_calls():
    first = await everywhere(backend_pid)
    assert len(set(first)) == database.MAX_THREADS
    assert set(await everywhere(backend_pid)) == set(first)


def kill(pid):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def kill_from_elsewhere(pids):
    try:
        for pid in pids:
            kill(pid)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
async def test_a_dead_connection_is_replaced_before_the_next_call():
    before = await everywhere(backend_pid)
    await asyncio.to_thread(kill_from_elsewhere, before)
    after = await everywhere(backend_pid)
    assert not set(before) & set(after)


@pytest.mark.django_db(transaction=True)
async def test_a_connection_that_dies_during_a_call_fails_that_call_alone():
    with pytest.raises(OperationalError):
        await run_in_database_thread(lambda: kill(backend_pid()))
    assert await run_in_database_thread(backend_pid)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_", range(5))
async def test_closing_closes_the_connection_of_every_thread(_, monkeypatch):
    monkeypatch.setattr(database, "CLOSE_TIMEOUT_S", PATIENCE_S)
    before = await everywhere(backend_pid)
    await database.close_connections()
    after = await everywhere(backend_pid)
    assert not set(before) & set(after)


def stand_still():
    """Idle in a transaction for longer than is borne, then try to go on."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
        select.select([connection.connection.fileno()], [], [], PATIENCE_S)
        cursor.execute("SELECT 1")


@pytest.mark.django_db(transaction=True)
async def test_a_timed_out_transaction_counts_as_database_unavailable():
    with pytest.raises((InternalError, OperationalError)) as raised:
        await run_in_database_thread(stand_still)
    assert is_database_away(raised.value)


@pytest.mark.parametrize(
    "cause", [IdleInTransactionSessionTimeout, ReadOnlySqlTransaction, TransactionTimeout]
)
def test_the_causes_of_driver_errors_are_considered(cause):
    error = InternalError()
    error.__cause__ = cause()
    assert is_database_away(error)


def test_a_statement_that_is_too_large_is_refused_for_good():
    error = OperationalError()
    error.__cause__ = ProgramLimitExceeded()
    assert not is_database_away(error)


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (OperationalError(), True),
        (InterfaceError(), True),
        (InternalError(), False),
        (IntegrityError(), False),
        (DataError(), False),
    ],
)
def test_unavailability_is_distinguished_from_refusal(error, away):
    assert is_database_away(error) is away


@pytest.mark.django_db(transaction=True)
def test_a_writable_database_has_no_obstacle():
    assert find_write_obstacle() == ""


@pytest.mark.django_db(transaction=True)
def test_a_read_only_database_is_one():
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            assert "read-only: make it writable" in find_write_obstacle()
        finally:
            cursor.execute("SET default_transaction_read_only = off")


@pytest.mark.parametrize(
    ("lock", "obstacle"),
    [("the table x is locked by process 7", "the table x is locked by process 7, "), (None, "")],
)
def test_a_lock_is_described(lock, obstacle):
    assert describe_write_obstacle(False, lock).startswith(obstacle)
    assert bool(describe_write_obstacle(False, lock)) is bool(obstacle)
