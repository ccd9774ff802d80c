import django.db
import pytest
from django.db import connection, transaction
from psycopg.pq import PipelineStatus

from execution.store import prepared

pytestmark = pytest.mark.django_db


def kept():
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [text for (text,) in cursor.fetchall()]


def test_a_statement_is_prepared_at_its_first_use_and_then_used_again():
    for number in (1, 2, 1):
        with prepared.cursor() as cursor:
            (found,) = cursor.execute("SELECT %s::int + 41", [number]).fetchone()
        assert found == number + 41
    assert len([text for text in kept() if "+ 41" in text]) == 1


def test_within_one_that_is_pipelined_all_share_its_round_trip():
    with prepared.cursor(pipelined=True) as first, prepared.cursor(pipelined=True) as second:
        first.execute("SELECT 1")
        second.execute("SELECT 2")
        assert (second.fetchone(), first.fetchone()) == ((2,), (1,))


def refused():
    with transaction.atomic(), prepared.cursor(pipelined=True) as cursor:
        cursor.execute("CREATE TEMPORARY TABLE half (n int)")
        cursor.execute("SELECT 1 / %s::int", [0])


def test_what_a_pipeline_refuses_is_raised_and_undone():
    with pytest.raises(django.db.DataError):
        refused()
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('half')")
        assert cursor.fetchone() == (None,)


def test_what_is_sent_together_in_a_transaction_has_a_limit_of_its_own():
    with prepared.cursor(pipelined=True) as cursor:
        (limit,) = cursor.execute("SHOW transaction_timeout").fetchone()
    assert limit == prepared.LONGEST_TRANSACTION


def test_a_server_that_cannot_limit_it_is_sent_one_statement_after_another(monkeypatch):
    monkeypatch.setattr(prepared, "TIMED_SINCE", 1_000_000)
    with prepared.cursor(pipelined=True) as cursor:
        assert connection.connection.pgconn.pipeline_status == PipelineStatus.OFF
        assert cursor.execute("SELECT 1").fetchone() == (1,)
