import threading
from collections.abc import Iterator

import pytest
from django.db import ProgrammingError, connections
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.postgres.failures import DatabaseUnavailable
from tests.foundation.postgres import scratch


@pytest.fixture
def empty(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    with django_db_blocker.unblock(), scratch.database(migrated=False) as alias:
        yield alias


def test_processes_that_start_together_migrate_once(empty: str) -> None:
    pending = migrate.pending_migrations(using=empty)
    assert "auth.0001_initial" in pending
    results: list[list[str]] = []
    start = threading.Barrier(2)

    def run() -> None:
        start.wait()
        try:
            results.append(migrate.migrate_once(using=empty))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results, key=len) == [[], pending]
    assert migrate.pending_migrations(using=empty) == []
    assert migrate.migrate_once(using=empty) == []


def test_the_lock_is_let_go_after_a_failure(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ProgrammingError('permission denied to create extension "vector"\nHINT: more')

    monkeypatch.setattr(migrate, "call_command", fail)
    with pytest.raises(DatabaseUnavailable, match="run `CREATE EXTENSION vector`"):
        migrate.migrate_once(using=empty)
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    assert scratch.query(held) == [(0,)]


def test_the_lock_goes_with_a_connection_that_is_lost(empty: str) -> None:
    with migrate.exclusively(using=empty):
        connections[empty].close()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('permission denied to create extension "vector"', "CREATE EXTENSION vector"),
        ("permission denied for schema public", "GRANT ALL ON SCHEMA public"),
    ],
)
def test_a_missing_right_is_named_with_who_can_give_it(message: str, said: str) -> None:
    error = migrate._refused(ProgrammingError(message))
    assert isinstance(error, DatabaseUnavailable)
    assert said in str(error)


def test_other_errors_stay_as_they_are() -> None:
    error = ProgrammingError('syntax error at or near "x"')
    assert migrate._refused(error) is error
