"""Fixtures of all tests: the database, a private data folder, keys, a caller."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import wait
from contextlib import suppress
from pathlib import Path

import pytest
import structlog
from asgiref.sync import SyncToAsync
from cryptography.fernet import Fernet
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db import connection, connections, transaction
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django.plugin import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from execution.store import fencing, prepared, transactions
from gateway_project.foundation import database, sealed_columns
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.garbage import pause_collection
from gateway_project.foundation.sealing import Sealer
from gateway_project.models import RetiredUserName
from tests.fakes import FixedClock
from tests.patience import PATIENCE_S
from tools.upstream import process, watch

# Two busy cores make a single example slow now and then; that says nothing about the code.
# Making examples takes most of the time of a property; those that need many ask for them.
hypothesis_settings.register_profile(
    "foregate", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("foregate")

# By default every logged exception is laid out with the variables of all its frames, which takes
# seconds; the product writes plain tracebacks too.
structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback

_DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences"}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from traversing all modules and tests again and again.

    They last to the end; traversing them takes up to a quarter of the time of the collection.
    """
    with pause_collection():
        collected = yield
    gc.freeze()
    return collected


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Close every thread's connection before the test database is dropped."""
    with django_db_blocker.unblock():
        _spare_the_disk()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TransactionTestCase, "_fixture_teardown", _delete_committed_rows)
        yield
    asyncio.run(database.close_connections())
    _close_async_orm_connections()


def _spare_the_disk() -> None:
    """Make a server used only by the tests write without waiting for its disk.

    Nothing that it holds outlives the tests, and to make or drop a database takes minutes where
    others keep the disk busy. Tests that kill servers have some of their own.
    """
    if settings.FOREGATE.database_url is None and settings.FOREGATE.home == settings.OWN_HOME:
        with connection.cursor() as cursor:
            cursor.execute("ALTER SYSTEM SET fsync = off")
            cursor.execute("SELECT pg_reload_conf()")


def _wait_for_database_threads() -> None:
    """Let work whose caller was cancelled end while the database may still be used.

    Otherwise it could neither commit nor release its advisory lock, which all later tests of this
    worker would then wait for.
    """
    barrier = threading.Barrier(database.MAX_THREADS)

    def meet() -> None:
        with suppress(threading.BrokenBarrierError):
            barrier.wait(PATIENCE_S)

    wait([database._threads.submit(meet) for _ in range(database.MAX_THREADS)])


def _delete_committed_rows(_: TransactionTestCase) -> None:
    """Delete the rows that a test has committed.

    Django would truncate every table and store content types and permissions anew, which takes
    ten times as long as most tests.
    """
    _wait_for_database_threads()
    names = set(connection.introspection.django_table_names(only_existing=True))
    names -= {ContentType._meta.db_table, Permission._meta.db_table}
    filled = " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in sorted(names)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(filled)
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {name}")
        # Deleting users has just retired their names.
        cursor.execute(f"DELETE FROM {RetiredUserName._meta.db_table}")


@pytest.fixture(autouse=True)
def _keys_are_made_for_new_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make keys for the new homes of tests, although rows may be sealed with others already."""
    monkeypatch.setattr(sealed_columns, "find_sealed_table", lambda _: "")


@pytest.fixture(scope="session", autouse=True)
def _static_files_listed_once() -> Iterator[None]:
    """List the console's static files once, and not anew for each of Django's test clients."""
    listed: dict[str, StaticFile] = {}
    list_files = WhiteNoiseMiddleware.add_files_from_finders

    def list_once(self: WhiteNoiseMiddleware) -> None:
        if not listed:
            list_files(self)
            listed.update(self.files)
        self.files.update(listed)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WhiteNoiseMiddleware, "add_files_from_finders", list_once)
        yield


@pytest.fixture(autouse=True)
def _tests_may_last(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a test, which is one transaction, to take longer than a transaction of the product.

    The limits that the product sets for its own short ones hold from then on to the end of the
    one around them, which is that of the test; pytest ends one that hangs.
    """
    marker = request.node.get_closest_marker("django_db")
    commits = "transactional_db" in request.fixturenames or (
        marker is not None and marker.kwargs.get("transaction", False)
    )
    if commits or (marker is None and "db" not in request.fixturenames):
        return
    monkeypatch.setattr(prepared, "MAX_TRANSACTION_S", 10 * PATIENCE_S)
    for module, name in ((fencing, "_LOCK"), (transactions, "_SET_IDLE_LIMIT")):
        limited = getattr(module, name)
        lasting = limited.replace(f"'{fencing.MAX_IDLE_TIME}'", f"'{PATIENCE_S}s'")
        assert lasting != limited
        monkeypatch.setattr(module, name, lasting)


@pytest.fixture(autouse=True)
def _servers_may_end_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a server's end, and the news of how it ended, awaited for as long as they take."""
    monkeypatch.setattr(process, "EXIT_NOTICE_S", PATIENCE_S)
    monkeypatch.setattr(process, "GUARD_END_S", PATIENCE_S)
    monkeypatch.setattr(watch, "STOP_TIMEOUT_S", PATIENCE_S)


@pytest.fixture(autouse=True)
def _sign_ins_are_counted_anew() -> None:
    """Forget the sign-ins of other tests, which come from the same address."""
    cache.clear()


@pytest.fixture(autouse=True)
def _no_stray_connections(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close connections that the ORM opened on asgiref's thread for an async test."""
    yield
    if inspect.iscoroutinefunction(request.function) and _DATABASE_FIXTURES & set(
        request.fixturenames
    ):
        _close_async_orm_connections()


def _close_async_orm_connections() -> None:
    SyncToAsync.single_thread_executor.submit(connections.close_all).result(timeout=PATIENCE_S)


@pytest.fixture
def runs_db(db: None) -> Iterator[None]:
    """Commit runs so that all threads see them, and delete them afterwards.

    What a process does about runs is done on database threads, which see nothing of the test's own
    transaction. Flushing all tables afterwards would take half a second.
    """
    yield
    database._threads.submit(_delete_runs).result(timeout=PATIENCE_S)


def _delete_runs() -> None:
    switch = apps.get_model("execution", "SpeculationControl")  # a migration stores its row
    models = [one for one in apps.get_app_config("execution").get_models() if one is not switch]
    with connection.cursor() as cursor:
        events = apps.get_model("learning", "EpisodicEvent")  # of decisions about approvals
        audit = apps.get_model("gateway_project", "AuditEntry")
        for model in (*reversed(models), audit, events):
            cursor.execute(f"DELETE FROM {model._meta.db_table}")


@pytest.fixture
def home(tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a data folder of its own, for this process and those it starts."""
    folder = tmp_path / "home"
    monkeypatch.setenv("FOREGATE_HOME", str(folder))
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"home": folder})
    return folder


@pytest.fixture
def sealer() -> Sealer:
    """Return a sealer with a key generated for this test."""
    return Sealer([Fernet.generate_key()])


@pytest.fixture
def caller() -> Caller:
    """Return the local admin, who has all permissions and no team."""
    return Caller(
        user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio"
    )


@pytest.fixture
def clock() -> FixedClock:
    """Return a clock that only the test advances."""
    return FixedClock()
