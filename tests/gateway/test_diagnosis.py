import json
import socket

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import OperationalError

from gateway_project import diagnosis
from gateway_project.foundation.config import Config
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from tests.factories import ServerFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.models import Server, Tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def config(home):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home.mkdir()
    return Config(home=home, console_port=port)


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    """Servers answer as told here, and the model is a fake one."""
    answers = {}

    async def probe(specs):
        return {spec.name: answers[spec.name] for spec in specs}

    monkeypatch.setattr(diagnosis, "_probe", probe)
    monkeypatch.setattr(diagnosis, "embedder_for", lambda _: FakeEmbedder())
    return answers


def verdicts(config):
    return {finding.check: finding for finding in diagnosis.examine(config)}


def test_a_sound_installation_is_found_sound(config, outside):
    ToolFactory(server=ServerFactory(name="git"))
    outside["git"] = 12
    found = verdicts(config)
    assert {finding.verdict for finding in found.values()} == {"ok"}
    assert found["server git"].detail == "12 tools"
    assert "16 dimensions" in found["embedding model"].detail


def test_a_server_that_does_not_answer_is_a_failure_with_its_reason(config, outside):
    ServerFactory(name="bad")
    outside["bad"] = "server 'bad': exited with status 3"
    finding = verdicts(config)["server bad"]
    assert (finding.verdict, finding.detail) == ("failure", "exited with status 3")


def test_what_waits_for_a_person_is_a_warning(config, outside):
    server = ServerFactory(name="git")
    outside["git"] = 1
    ToolFactory(server=server, state=Tool.State.QUARANTINED)
    assert verdicts(config)["approval"].detail.startswith("1 tools wait for approval")


def test_an_empty_installation_is_told_how_to_go_on(config):
    assert "import_servers" in verdicts(config)["servers"].detail


def test_a_port_in_use_is_a_warning_that_names_the_setting(config):
    with socket.create_server(("127.0.0.1", config.console_port)):
        finding = verdicts(config)["console"]
    assert finding.verdict == "warning"
    assert "FOREGATE_CONSOLE_PORT" in finding.detail


def test_a_model_that_cannot_be_loaded_is_a_failure(config, monkeypatch):
    class Broken(FakeEmbedder):
        def embed(self, texts, *, kind):
            raise EmbeddingUnavailable("no such model; choose another")

    monkeypatch.setattr(diagnosis, "embedder_for", lambda _: Broken())
    assert verdicts(config)["embedding model"].detail == "no such model; choose another"


def test_missing_migrations_end_the_examination_with_what_to_do(config, monkeypatch):
    monkeypatch.setattr(migrate, "pending_migrations", lambda: ["tools.0001_initial"])
    found = verdicts(config)
    assert found["migrations"].verdict == "failure"
    assert "servers" not in found


def test_without_a_database_the_rest_is_left_out(config, monkeypatch):
    def away():
        raise OperationalError("nobody listens\nmore")

    monkeypatch.setattr(diagnosis.connection, "cursor", away)
    found = verdicts(config)
    assert found["database"].detail == "nobody listens"
    assert "migrations" not in found


def test_a_sealed_environment_that_no_key_opens_is_a_failure(config):
    Server.objects.create(
        name="git", command="x", env_sealed=Sealer([Fernet.generate_key()]).seal({"A": "1"})
    )
    assert "sealing.keys" in verdicts(config)["servers"].detail


@pytest.mark.parametrize(("space", "verdict"), [(1_000, "warning"), (10**12, "ok")])
def test_little_room_is_a_warning(config, monkeypatch, space, verdict):
    monkeypatch.setattr(
        diagnosis.shutil, "disk_usage", lambda _: type("Usage", (), {"free": space})()
    )
    assert verdicts(config)["home"].verdict == verdict


def test_a_home_that_cannot_be_written_is_a_failure(config, monkeypatch):
    monkeypatch.setattr(diagnosis.os, "access", lambda *_: False)
    finding = verdicts(config)["home"]
    assert finding.verdict == "failure"
    assert "FOREGATE_HOME" in finding.detail


def test_the_command_exits_with_one_if_anything_failed(config, outside, settings, capsys):
    settings.FOREGATE = config
    ServerFactory(name="bad")
    outside["bad"] = "server 'bad': gone"
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json")
    assert ended.value.code == 1
    found = {item["check"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["server bad"]["detail"] == "gone"


def test_the_command_prints_a_line_a_check(config, settings, capsys):
    settings.FOREGATE = config
    call_command("doctor")
    printed = capsys.readouterr().out
    assert "database: PostgreSQL" in printed
    assert "warning" in printed
