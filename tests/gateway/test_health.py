from datetime import timedelta

import pytest
import structlog
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from gateway_project.access import tokens
from gateway_project.console import health
from tests.factories import ServerFactory, ToolFactory, UserFactory


def bearer(token, scheme="Bearer"):
    return {"authorization": f"{scheme} {token}"}


def make_token(*scopes, **values):
    return tokens.create_token(UserFactory(), name="x", scopes=scopes, **values)[1]


def test_liveness_does_not_depend_on_the_database(client):
    response = client.get("/health")
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
@pytest.mark.django_db
def test_probes_may_name_any_host_and_need_no_https(client, settings, path):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(path, headers={"host": "10.1.2.3:8420"}).status_code == 200
    assert client.get("/", headers={"host": "10.1.2.3:8420"}).status_code in {301, 400}


@pytest.mark.django_db
def test_it_is_ready_when_the_database_answers(client):
    response = client.get("/health/ready")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok"}


def test_it_is_not_ready_while_the_database_cannot_be_reached(client, monkeypatch):
    def unreachable(**_):
        raise OperationalError("cannot connect: start it\nDETAIL: a socket")

    monkeypatch.setattr(health.migrate, "require_migrated", unreachable)
    with structlog.testing.capture_logs() as entries:
        response = client.get("/health/ready")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "unavailable"}
    assert [entry["error"] for entry in entries] == ["cannot connect: start it\nDETAIL: a socket"]


@pytest.mark.django_db
def test_it_is_not_ready_while_the_database_lacks_migrations(client):
    MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")
    with structlog.testing.capture_logs() as entries:
        response = client.get("/health/ready")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "unmigrated"}
    assert "run `manage.py upgrade`" in entries[0]["error"]


@pytest.mark.django_db
def test_it_is_not_ready_once_a_newer_version_has_migrated_the_database(client):
    MigrationRecorder(connection).record_applied("tools", "9999_later")
    response = client.get("/health/ready")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "newer"}


@pytest.mark.parametrize("path", ["/health", "/health/ready", "/metrics"])
def test_health_and_metrics_accept_only_reads(client, path):
    assert client.post(path).status_code == 405


@pytest.mark.django_db
def test_metrics_are_for_a_token_of_their_scope(client):
    response = client.get("/metrics", headers=bearer(make_token("metrics")))
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")


@pytest.mark.django_db
@pytest.mark.parametrize("scopes", [(), ("call",), ("metrics2",)])
def test_a_token_without_the_scope_is_forbidden(client, scopes):
    response = client.get("/metrics", headers=bearer(make_token(*scopes)))
    assert response.status_code == 403
    assert b"foregate_" not in response.content


@pytest.mark.django_db
@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic YTpi"])
def test_without_a_valid_token_there_are_no_metrics(client, header):
    response = client.get("/metrics", headers={} if header is None else {"authorization": header})
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert b"foregate_" not in response.content


@pytest.mark.django_db
def test_an_expired_token_gives_no_metrics(client):
    token = make_token("metrics", expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get("/metrics", headers=bearer(token)).status_code == 401


@pytest.mark.django_db
def test_a_signed_in_session_is_no_token(client):
    client.force_login(UserFactory(superuser=True))
    assert client.get("/metrics").status_code == 401


@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_the_scheme_of_the_header_is_taken_in_any_case(client, scheme):
    headers = bearer(make_token("metrics"), scheme)
    assert client.get("/metrics", headers=headers).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["Basic", "XBearer", "Basic Bearer"])
def test_a_token_under_another_scheme_is_ignored(client, scheme):
    headers = bearer(make_token("metrics"), scheme)
    assert client.get("/metrics", headers=headers).status_code == 401


@pytest.mark.django_db
def test_metrics_count_servers_and_the_tools_that_can_be_used(client):
    on = ServerFactory()
    off = ServerFactory(enabled=False)
    ToolFactory.create_batch(2, server=on)
    ToolFactory(server=on, enabled=False)
    ToolFactory(server=on, state="quarantined")
    ToolFactory(server=off)
    text = client.get("/metrics", headers=bearer(make_token("metrics"))).content.decode()
    assert 'foregate_servers{state="enabled"} 1.0' in text
    assert 'foregate_servers{state="disabled"} 1.0' in text
    assert "foregate_tools 2.0" in text
