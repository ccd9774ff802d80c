from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection

from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.postgres import address, locate


def test_the_embedded_database_is_reached_by_its_socket_alone(tmp_path: Path) -> None:
    entry = address.build_django_database(Config(home=tmp_path))
    place = entry["EMBEDDED"]
    assert entry["ENGINE"] == "gateway_project.foundation.postgres.backend"
    assert (entry["NAME"], entry["USER"], entry["PORT"]) == ("foregate", "foregate", "5432")
    assert entry["HOST"] == place.socket_folder
    assert entry["OPTIONS"]["requirepeer"] == place.server.name
    assert (entry["CONN_MAX_AGE"], entry["CONN_HEALTH_CHECKS"]) == (None, True)


def test_looking_up_the_address_starts_and_creates_nothing(tmp_path: Path) -> None:
    address.build_django_database(Config(home=tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_an_external_database_is_taken_from_its_url() -> None:
    url = "postgresql://me:p%40ss@db.example:6000/tools?sslmode=require&connect_timeout=3"
    entry = address.build_django_database(Config(database_url=url))
    assert "EMBEDDED" not in entry
    assert {key: entry[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")} == {
        "NAME": "tools",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6000",
    }
    assert entry["OPTIONS"] == {
        "connect_timeout": "3",
        "application_name": "foregate",
        "sslmode": "require",
        "options": address.SESSION_OPTIONS,
    }


def test_session_options_of_a_url_apply_and_defaults_remain() -> None:
    said = "-c idle_in_transaction_session_timeout=5s -c work_mem=8MB"
    entry = address.build_django_database(
        Config(database_url=f"postgres://h/db?options={quote(said)}")
    )
    assert entry["OPTIONS"]["options"] == f"{address.SESSION_OPTIONS} {said}"


@pytest.mark.django_db
def test_a_session_idle_in_a_transaction_ends_after_a_minute() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("1min",)


@pytest.mark.django_db
def test_a_statement_waits_for_a_lock_for_a_bounded_time() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == (f"{address.LOCK_WAIT_S}s",)


def test_a_bad_url_names_the_variable_and_not_the_password() -> None:
    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL has a port") as caught:
        address.build_django_database(Config(database_url="postgres://me:secret@h:x/db"))
    assert "secret" not in str(caught.value)


def test_an_account_that_is_missing_is_an_error_of_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate.os, "geteuid", lambda: 0)
    monkeypatch.setattr(locate, "_find_server_uid", lambda home: 0)
    with pytest.raises(ConfigurationError, match="no user 'nobody-such'"):
        address.build_django_database(Config(home=tmp_path, postgres_user="nobody-such"))
