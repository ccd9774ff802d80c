"""Whether any worker is alive."""

import pytest
from django.db import connection

from execution.store import worker_rows
from tests.execution.queue_tables import queue_tables

pytestmark = pytest.mark.django_db


def heard(*, seconds_ago):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) "
            "VALUES (now() - make_interval(secs => %s))",
            [seconds_ago],
        )


def test_a_worker_with_a_recent_heartbeat_is_alive():
    with queue_tables():
        assert not worker_rows.is_any_worker_alive(alive_s=10)
        heard(seconds_ago=3_600)
        assert not worker_rows.is_any_worker_alive(alive_s=600)
        heard(seconds_ago=5)
        assert worker_rows.is_any_worker_alive(alive_s=600)


def test_without_the_queue_s_tables_there_is_none():
    assert not worker_rows.is_any_worker_alive(alive_s=10)
    with connection.cursor() as cursor:  # the transaction around it goes on
        cursor.execute("SELECT 1")
