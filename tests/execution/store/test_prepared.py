import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import django.db
import pytest
from django.db import connection, connections, transaction
from psycopg.pq import PipelineStatus, TransactionStatus

from execution.store import prepared, retry_patience
from gateway_project.foundation.database import is_database_away
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db


@pytest.fixture
def timed(db):
    """A server that can limit the time of a transaction."""
    if not prepared.can_limit_transactions():
        pytest.skip("this server cannot limit the time of a transaction")


def test_pipelined_statements_share_one_round_trip():
    with prepared.cursor(pipelined=True) as first, prepared.cursor(pipelined=True) as second:
        first.execute("SELECT 1")
        second.execute("SELECT 2")
        assert (second.fetchone(), first.fetchone()) == ((2,), (1,))


def refused():
    with transaction.atomic(), prepared.cursor(pipelined=True) as cursor:
        cursor.execute("CREATE TEMPORARY TABLE half (n int)")
        cursor.execute("SELECT 1 / %s::int", [0])


def test_a_pipeline_error_is_raised_and_rolled_back():
    with pytest.raises(django.db.DataError):
        refused()
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('half')")
        assert cursor.fetchone() == (None,)


@pytest.fixture
def numbers(transactional_db):
    """A table, and a function that makes a transaction which writes to it."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE numbers (n int)")

    def write(*divisors):
        with prepared.cursor() as found:
            with prepared.transaction():
                for divisor in divisors:
                    found.execute("INSERT INTO numbers SELECT 6 / %s::int RETURNING n", [divisor])
            return found.fetchall()

    yield write
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE numbers")


def stored():
    with connection.cursor() as cursor:
        cursor.execute("SELECT n FROM numbers ORDER BY n")
        return [n for (n,) in cursor.fetchall()]


def test_a_transaction_is_committed_with_its_statements(numbers):
    assert numbers(1, 2) == [(3,)]
    assert connection.connection.info.transaction_status == TransactionStatus.IDLE
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(closing(stored)).result() == [3, 6]


def test_a_refused_transaction_is_rolled_back_and_the_next_succeeds(numbers):
    with pytest.raises(django.db.DataError) as refused:
        numbers(1, 0, 2)
    assert prepared.is_unmet_requirement(refused.value)
    assert stored() == []
    numbers(3)
    assert stored() == [2]


def insert(number):
    with prepared.cursor() as cursor:
        cursor.execute("INSERT INTO numbers VALUES (%s) RETURNING n", [number])
        return cursor.fetchall()


@pytest.mark.parametrize("kind", [prepared.transaction, transaction.atomic])
def test_a_local_error_rolls_the_transaction_back(numbers, kind):
    def break_off():
        with kind():
            numbers(1) if kind is transaction.atomic else insert(1)
            raise KeyError

    with pytest.raises(KeyError):
        break_off()
    assert stored() == []


@pytest.mark.usefixtures("numbers")
def test_without_transaction_timeout_a_transaction_is_sent_statement_by_statement(monkeypatch):
    monkeypatch.setattr(prepared, "MIN_TIMEOUT_VERSION", 1_000_000)
    with prepared.transaction():
        assert connection.connection.pgconn.pipeline_status == PipelineStatus.OFF
        insert(1)
    assert stored() == [1]


def lose_the_connection():
    with prepared.transaction():
        assert insert(1) == [(1,)]
        with ThreadPoolExecutor(1) as pool:
            pool.submit(closing(end_session), connection.connection.info.backend_pid).result()
        with suppress(django.db.Error):
            insert(2)
        insert(3)


@pytest.mark.usefixtures("numbers", "timed")
def test_a_connection_that_is_lost_amid_a_transaction_is_not_replaced_for_the_rest():
    with pytest.raises(django.db.OperationalError):
        lose_the_connection()
    assert stored() == []


def end_session(process):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10_000)", [process])


@pytest.mark.usefixtures("timed")
def test_a_process_that_stops_amid_a_transaction_loses_its_locks(numbers, monkeypatch):
    numbers(1)
    monkeypatch.setattr(prepared, "MAX_TRANSACTION_S", 0.5)
    locked, over = threading.Event(), threading.Event()

    def stop():
        with prepared.transaction(), prepared.cursor() as cursor:
            cursor.execute("UPDATE numbers SET n = 7 RETURNING n")
            cursor.fetchall()
            locked.set()
            over.wait(PATIENCE_S)

    def stopping():
        """Begin anew if the time was up before there was a lock to lose."""
        while True:
            try:
                return closing(stop)()
            except django.db.Error:
                if locked.is_set():
                    raise

    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(stopping)
        assert locked.wait(PATIENCE_S)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE_S}s'")
            cursor.execute("UPDATE numbers SET n = 8")
        over.set()
        assert isinstance(stopped.exception(PATIENCE_S), django.db.Error)
        assert is_database_away(stopped.exception())
    assert stored() == [8]


def test_a_large_write_gets_a_longer_limit(monkeypatch):
    monkeypatch.setattr(prepared, "MAX_TRANSACTION_S", retry_patience.MAX_TRANSACTION_S)
    assert (prepared.format_time_limit(0), prepared.format_time_limit(32_000_000)) == (
        "5000ms",
        "37000ms",
    )


def closing(function):
    def closed(*args):
        try:
            return function(*args)
        finally:
            connections.close_all()

    return closed
