import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import InterfaceError, OperationalError, connection, transaction

from gateway_project.foundation.postgres import address, failures, patience, supervise
from gateway_project.foundation.postgres.address import EMBEDDED
from gateway_project.foundation.postgres.backend import base
from gateway_project.foundation.postgres.backend.base import DatabaseWrapper
from gateway_project.foundation.postgres.cluster import ServerError
from gateway_project.foundation.postgres.failures import DatabaseUnavailable

pytestmark = pytest.mark.django_db(transaction=True)

Open = Callable[..., DatabaseWrapper]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Make connections of their own to the tests' server, with other settings."""
    made: list[DatabaseWrapper] = []

    def make(*, external: bool = True, **changes: Any) -> DatabaseWrapper:
        settings = {**connection.settings_dict, **changes}
        if external:
            settings.pop(EMBEDDED, None)
        wrapper = DatabaseWrapper(settings, alias=connection.alias)
        made.append(wrapper)
        return wrapper

    yield make
    for wrapper in made:
        wrapper.close()


def backend_pid(wrapper: Any) -> int:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def terminate(pid: int, killer: DatabaseWrapper) -> None:
    with killer.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
        assert cursor.fetchone() == (True,)


def test_a_connection_the_server_closed_is_replaced_between_transactions(opened: Open) -> None:
    one, other = opened(), opened()
    first = backend_pid(one)
    assert backend_pid(one) == first
    terminate(first, other)
    assert backend_pid(one) != first


def test_a_transaction_whose_connection_was_closed_fails(opened: Open) -> None:
    other = opened()

    @transaction.atomic
    def interrupted() -> None:
        terminate(backend_pid(connection), other)
        backend_pid(connection)

    with pytest.raises((OperationalError, InterfaceError)):
        interrupted()
    assert backend_pid(connection)


def test_a_closed_connection_is_dropped_without_opening_another(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = opened(), opened()
    terminate(backend_pid(one), other)

    def fail(_: object) -> None:
        raise OperationalError("the database is down")

    monkeypatch.setattr(one, "get_new_connection", fail)
    one.close_if_unusable_or_obsolete()
    assert one.connection is None


def test_a_notice_does_not_break_the_connection(opened: Open) -> None:
    one, other = opened(), opened()
    with one.cursor() as cursor:
        cursor.execute("LISTEN heard")
    first = backend_pid(one)
    with other.cursor() as cursor:
        cursor.execute("NOTIFY heard")
    assert backend_pid(one) == first


def test_an_external_server_is_checked_once(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(base, "_checked_servers", set())
    monkeypatch.setattr(
        failures, "explain_unsuitable", lambda version, *_: asked.append(version) or None
    )
    for wrapper in (opened(), opened()):
        backend_pid(wrapper)
    assert len(asked) == 1


def test_an_external_server_that_lacks_something_is_refused(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_checked_servers", set())
    monkeypatch.setattr(failures, "explain_unsuitable", lambda *_: "pgvector is missing")
    with pytest.raises(DatabaseUnavailable, match="pgvector is missing"):
        opened().ensure_connection()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"NAME": "none"}, r"there is no database 'none' at .*createdb none"),
        ({"USER": "stranger"}, r"does not let the user 'stranger' in"),
        ({"HOST": "127.0.0.1", "PORT": "1"}, r"cannot reach PostgreSQL at 127\.0\.0\.1"),
        ({"HOST": "/none"}, r"cannot reach PostgreSQL at /none"),
        ({"HOST": "host.invalid"}, r"cannot find the host of host\.invalid"),
        ({"OPTIONS": {"nonsense": "1"}}, r"\(invalid connection option\)"),
    ],
)
def test_a_wrong_address_is_one_line_without_the_password(
    opened: Open, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(DatabaseUnavailable, match=said) as caught:
        opened(PASSWORD="hunter2", **changes).ensure_connection()
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_embedded_server_that_cannot_run_is_unavailable(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ServerError("the disk is full: free some space")

    monkeypatch.setattr(supervise, "register_user", fail)
    with pytest.raises(DatabaseUnavailable, match=r"^the disk is full: free some space$"):
        opened(external=False, EMBEDDED=object()).ensure_connection()


def test_an_embedded_server_that_keeps_failing_is_given_up(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def connect(**_: object) -> None:
        calls.append("connect")
        raise psycopg.OperationalError("Connection refused")

    for name in ("register_user", "ensure_running", "start_keeper"):
        monkeypatch.setattr(supervise, name, lambda cluster, name=name: calls.append(name))
    monkeypatch.setattr(psycopg, "connect", connect)
    wrapper = opened(external=False, EMBEDDED=object())
    monkeypatch.setattr(wrapper.Database, "connect", connect)
    with pytest.raises(DatabaseUnavailable, match="cannot reach PostgreSQL"):
        wrapper.ensure_connection()
    assert calls == ["register_user", *["connect", "ensure_running"] * base.MAX_ATTEMPTS]


def test_a_server_of_another_account_is_refused(opened: Open) -> None:
    if os.geteuid() != 0 or EMBEDDED not in connection.settings_dict:
        pytest.skip("needs root and the embedded server")
    wrapper = opened(OPTIONS={"requirepeer": "root"})
    with pytest.raises(DatabaseUnavailable, match="peer"):
        wrapper.ensure_connection()


def test_a_connection_that_somebody_waits_for_is_given_up_sooner(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []

    def connect(**parameters: object) -> None:
        given.append(parameters["connect_timeout"])
        raise psycopg.OperationalError("timeout expired")

    for limit_s, options in (
        (0.1, {}),
        (7.0, {}),
        (None, {}),
        (7.0, {"connect_timeout": "3"}),  # of the URL
    ):
        wrapper = opened(OPTIONS=connection.settings_dict["OPTIONS"] | options)
        monkeypatch.setattr(wrapper.Database, "connect", connect)
        limit = nullcontext() if limit_s is None else patience.limit_wait(limit_s)
        with limit, pytest.raises(DatabaseUnavailable, match="cannot reach PostgreSQL"):
            wrapper.ensure_connection()
    assert given == [base.MIN_CONNECT_TIMEOUT_S, 7, address.CONNECT_TIMEOUT_S, 3]


def test_a_server_that_does_not_answer_is_unusable_to_somebody_who_waits(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    if EMBEDDED not in connection.settings_dict:
        pytest.skip("needs the embedded server, whose processes can be stopped")
    monkeypatch.setattr(base, "HEALTH_CHECK_TIMEOUT_S", 0.05)
    one = opened()
    pid = backend_pid(one)
    os.kill(pid, signal.SIGSTOP)
    try:
        with patience.limit_wait(1.0):
            assert not one.is_usable()
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("ask", ["ensure_connection", "is_usable"])
def test_an_answer_of_the_database_ends_the_wait_for_it(
    opened: Open, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    one = opened()
    one.ensure_connection()
    if ask == "ensure_connection":
        one.close()
    with patience.limit_wait(100.0):
        first_s = patience.begin_wait(0.0)
        assert patience.begin_wait(0.0) < first_s
        getattr(one, ask)()
        assert patience.begin_wait(0.0) == first_s


def test_a_server_that_answers_is_usable_to_somebody_who_waits(opened: Open) -> None:
    one, other = opened(), opened()
    with patience.limit_wait(1.0):
        first = backend_pid(one)
        assert one.is_usable()
        assert backend_pid(one) == first
        terminate(first, other)
        assert not one.is_usable()
