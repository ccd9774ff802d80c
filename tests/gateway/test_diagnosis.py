import json
import socket
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import OperationalError

from gateway_project.diagnosis import answers, examine, installation
from gateway_project.diagnosis.answers import Answer
from gateway_project.foundation.config import Config
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from tests.factories import ServerFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.patience import PATIENCE_S
from tools.embed.embedder import EmbeddingUnavailable
from tools.models import Server, Tool, ToolDefinition
from tools.upstream.spec import ServerSpec

pytestmark = pytest.mark.django_db


@pytest.fixture
def config(home):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home.mkdir()
    return Config(home=home, console_port=port)


@pytest.fixture(autouse=True)
def outside(monkeypatch, tmp_path):
    """Servers answer as told here, the model is a fake one, and no client is there."""
    told = {}

    def ask(_config, specs, _sealer):
        return tuple(told[spec.name] for spec in specs)

    monkeypatch.setattr(answers, "ask", ask)
    monkeypatch.setattr(installation, "embedder_for", lambda _: FakeEmbedder())
    monkeypatch.setattr(installation, "default_home", lambda: tmp_path / "usual")
    # Time that this process stands still, between one clock and the other, is none they differ by.
    monkeypatch.setattr(installation, "MAX_SKEW_S", PATIENCE_S)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return told


@pytest.fixture
def told(outside):
    """Register a server that answers thus."""

    def _told(name, *, command="true", tools=None, error="", dropped=0, **fields):
        outside[name] = Answer(name=name, tools=tools, error=error, dropped=dropped)
        return ServerFactory(name=name, command=command, **fields)

    return _told


def all_of(config, check):
    return [finding for finding in examine.examine(config) if finding.check == check]


def one(config, check):
    (finding,) = all_of(config, check)
    return finding


def test_a_sound_installation_is_found_sound(config, told, monkeypatch):
    tool = ToolFactory(server=told("git", tools=12))
    monkeypatch.setattr(installation.overview, "embedding", lambda _: {"tools": 1, "embedded": 1})
    assert tool
    found = {finding.check: finding for finding in examine.examine(config)}
    assert {finding.verdict for finding in found.values()} == {"ok"}
    assert found["server git"].detail == "12 tools"
    assert "16 dimensions" in found["embedding model"].detail


def test_a_server_that_does_not_answer_is_a_failure_with_its_reason(config, told):
    told("bad", error="server 'bad': exited with status 3")
    finding = one(config, "server bad")
    assert (finding.verdict, finding.detail) == ("failure", "exited with status 3")


def test_a_server_that_prints_beside_the_protocol_is_a_warning(config, told):
    told("loud", tools=1, dropped=7)
    found = all_of(config, "server loud")
    assert [finding.verdict for finding in found] == ["ok", "warning"]
    assert "prints to stdout" in found[1].detail
    assert "7 lines" in found[1].detail


def test_a_server_whose_entry_cannot_work_is_not_started(config, told, outside):
    told("bad", command="nowhere-to-be-found")
    outside.clear()  # asking it would fail
    assert "not on the PATH" in one(config, "server bad").detail


def test_a_server_that_nobody_signed_in_to_says_how(config, told):
    told("far", command="", url="https://e.com/", transport="http", authorization="oauth",
         error="server 'far': 401")  # fmt: skip
    assert one(config, "server far").detail == (
        "nobody has signed in to it; run `manage.py sign_in far`"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"ended": "refused"}, "its sign-in has ended (refused)"),
        ({"expires_at": datetime.now(UTC) - timedelta(days=1)}, "expired and cannot be renewed"),
        ({"expires_at": datetime.now(UTC) - timedelta(days=1), "renews": True}, ""),
        ({"expires_at": None}, ""),
        ({"expires_at": datetime.now(UTC) + timedelta(days=1)}, ""),
    ],
)
def test_a_sign_in_is_judged_by_whether_it_can_be_used(monkeypatch, sealer, values, said):
    fields = {
        "user": "", "issuer": "i", "scope": "", "wanted": "", "expires_at": None,
        "renews": False, "ended": "", "updated_at": datetime.now(UTC),
    }  # fmt: skip
    known = answers.sign_ins.Overview(**(fields | values))
    monkeypatch.setattr(answers.sign_ins, "overview", lambda *_, **__: (known,))
    problem = answers.sign_in_problem(ServerSpec(name="far", authorization="oauth"), sealer)
    assert said in problem
    assert bool(problem) is bool(said)


def test_what_waits_for_a_person_is_a_warning(config, told):
    ToolFactory(server=told("git", tools=1), state=Tool.State.QUARANTINED)
    assert one(config, "approval").detail.startswith("1 tools wait for approval")


def test_tools_in_use_whose_texts_are_suspicious_are_a_warning(config, told):
    ToolFactory(server=told("git", tools=1), name="bad")
    ToolDefinition.objects.update(findings=[{"severity": "severe", "kind": "bidi"}])
    assert "git:bad" in one(config, "findings").detail


def test_one_server_registered_twice_is_a_warning(config, told):
    for name in ("git", "git2"):
        server = told(name, tools=2)
        for tool in ("log", "diff"):
            ToolFactory(server=server, name=tool)
    assert one(config, "double tools").detail.startswith("git, git2 offer the same tools")


def test_bare_names_that_are_taken_are_a_warning(config, told):
    ToolFactory(server=told("git", tools=1, unprefixed=True), name="search_tools")
    assert "search_tools (" in one(config, "names without prefix").detail


def test_tools_whose_schema_is_unusable_are_a_warning(config, told):
    schema = {"properties": {"x": {"$ref": "https://e.com/x.json"}}}
    ToolFactory(server=told("git", tools=1), name="odd", input_schema=schema)
    assert one(config, "schemas").detail.startswith("git:odd cannot be called")


def test_tools_without_a_vector_are_a_warning(config, told):
    ToolFactory(server=told("git", tools=1))
    assert one(config, "embeddings").detail == (
        "1 of 1 tools are not embedded; run `manage.py embed`"
    )


def test_an_empty_installation_is_told_how_to_go_on(config):
    assert "import_servers" in one(config, "servers").detail


def test_a_port_in_use_is_a_warning_that_names_the_setting(config):
    with socket.create_server(("127.0.0.1", config.console_port)):
        finding = installation.port(config)
    assert finding.verdict == "warning"
    assert "FOREGATE_CONSOLE_PORT" in finding.detail


def test_a_console_that_runs_already_is_no_mistake(config, monkeypatch):
    monkeypatch.setattr(installation, "ANSWER_TIMEOUT_S", PATIENCE_S)

    class Live(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"status": "ok"}'
            self.send_response(200 if self.path == "/health" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", config.console_port), Live)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    finding = installation.port(config)
    thread.join(PATIENCE_S)
    server.server_close()
    assert (finding.verdict, finding.detail.endswith("is served")) == ("ok", True)


def test_networks_that_cannot_be_read_are_a_failure(config):
    odd = config.model_copy(update={"allow_private": "10.0.0.0/99"})
    (finding,) = installation.networks(odd)
    assert finding.detail.startswith("FOREGATE_ALLOW_PRIVATE: ")


def test_a_second_home_is_a_warning(config, tmp_path):
    (tmp_path / "usual" / "keys").mkdir(parents=True)
    (finding,) = installation.other_home(config)
    assert "holds another installation" in finding.detail


def test_a_model_that_cannot_be_loaded_is_a_failure(config, monkeypatch):
    class Broken(FakeEmbedder):
        def embed(self, texts, *, kind):
            raise EmbeddingUnavailable("no such model; choose another")

    monkeypatch.setattr(installation, "embedder_for", lambda _: Broken())
    assert one(config, "embedding model").detail == "no such model; choose another"


def test_missing_migrations_end_the_examination_with_what_to_do(config, monkeypatch):
    monkeypatch.setattr(migrate, "pending_migrations", lambda: ["tools.0001_initial"])
    assert one(config, "migrations").verdict == "failure"
    assert all_of(config, "servers") == []


def test_without_a_database_the_rest_is_left_out(config, monkeypatch):
    def away():
        raise OperationalError("nobody listens\nmore")

    monkeypatch.setattr(installation.connection, "cursor", away)
    assert one(config, "database").detail == "nobody listens"
    assert all_of(config, "migrations") == []


def test_a_clock_that_is_off_is_a_warning(config, monkeypatch):
    monkeypatch.setattr(installation.time, "time", lambda: 0.0)
    assert "synchronise" in installation.database().detail


def test_a_sealed_environment_that_no_key_opens_is_a_failure(config):
    Server.objects.create(
        name="git", command="x", env_sealed=Sealer([Fernet.generate_key()]).seal({"A": "1"})
    )
    assert "sealing.keys" in one(config, "servers").detail


@pytest.mark.parametrize(("space", "verdict"), [(1_000, "warning"), (10**12, "ok")])
def test_little_room_is_a_warning(config, monkeypatch, space, verdict):
    monkeypatch.setattr(
        installation.shutil, "disk_usage", lambda _: type("Usage", (), {"free": space})()
    )
    assert installation.home(config).verdict == verdict


def test_a_home_that_cannot_be_written_is_a_failure(config, monkeypatch):
    monkeypatch.setattr(installation.os, "access", lambda *_: False)
    finding = installation.home(config)
    assert finding.verdict == "failure"
    assert "FOREGATE_HOME" in finding.detail


def test_the_command_exits_with_one_if_anything_failed(config, told, settings, capsys):
    settings.FOREGATE = config
    told("bad", error="server 'bad': gone")
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json")
    assert ended.value.code == 1
    found = {item["check"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["server bad"]["detail"] == "gone"


def test_the_command_prints_a_line_a_check_and_a_warning_is_no_failure(config, settings, capsys):
    settings.FOREGATE = config
    call_command("doctor")
    printed = capsys.readouterr().out
    assert "database: PostgreSQL" in printed
    assert "warning" in printed
