import json
import socket
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from gateway_project.console import identity
from gateway_project.demo import servers
from gateway_project.diagnosis import check_installation, check_servers, examine
from gateway_project.diagnosis.check_servers import ServerAnswer
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from tests.execution.stored import held
from tests.factories import ServerFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.gateway.test_console_on_demand import answering, console_of
from tests.journeys.gateways import free_port
from tests.patience import PATIENCE_S
from tools.embed.embedder import EmbeddingUnavailable
from tools.models import Server, Tool, ToolDefinition
from tools.upstream.spec import ServerSpec

ASK = check_servers.ask_servers

pytestmark = pytest.mark.django_db


@pytest.fixture
def config(home):
    home.mkdir()
    return Config(home=home, console_port=free_port())


@pytest.fixture(autouse=True)
def outside(monkeypatch, tmp_path):
    """Servers answer as told here, the model is a fake one, and no client is there."""
    told = {}

    def ask(_config, specs, _sealer, **_):
        return tuple(told[spec.name] for spec in specs)

    monkeypatch.setattr(check_servers, "ask_servers", ask)
    monkeypatch.setattr(check_installation, "make_embedder", lambda _: FakeEmbedder())
    monkeypatch.setattr(check_installation, "default_home", lambda: tmp_path / "usual")
    # Time that this process stands still, between one clock and the other, is none they differ by.
    monkeypatch.setattr(check_installation, "MAX_CLOCK_SKEW_S", PATIENCE_S)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return told


@pytest.fixture
def told(outside):
    """Register a server that answers thus."""

    def _told(name, *, command="true", tools=None, error="", dropped=0, **fields):
        outside[name] = ServerAnswer(
            name=name, tool_count=tools, error=error, dropped_lines=dropped
        )
        return ServerFactory(name=name, command=command, **fields)

    return _told


def all_of(config, check):
    return [finding for finding in examine.run_checks(config) if finding.check == check]


def one(config, check):
    (finding,) = all_of(config, check)
    return finding


def test_a_sound_installation_is_found_sound(config, told, monkeypatch):
    tool = ToolFactory(server=told("git", tools=12))
    monkeypatch.setattr(
        check_installation.overview,
        "load_embedding_coverage",
        lambda _: {"tools": 1, "embedded": 1},
    )
    assert tool
    found = {finding.check: finding for finding in examine.run_checks(config)}
    assert {finding.verdict for finding in found.values()} == {"ok"}
    assert found["server git"].detail == "12 tools"
    assert "16 dimensions" in found["embedding model"].detail


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


def test_a_server_without_a_sign_in_reports_how_to_sign_in(config, told):
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
    known = check_servers.sign_ins.SignInOverview(**(fields | values))
    monkeypatch.setattr(check_servers.sign_ins, "load_overview", lambda *_, **__: (known,))
    problem = check_servers.find_sign_in_problem(
        ServerSpec(name="far", authorization="oauth"), sealer
    )
    assert said in problem
    assert bool(problem) is bool(said)


def test_tools_that_wait_for_approval_are_a_warning(config, told):
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
    assert one(config, "duplicate tools").detail.startswith("git, git2 offer the same tools")


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


def test_a_memory_that_is_too_large_is_a_warning(config):
    assert one(config, "memory").verdict == "ok"
    (config.home / "spool").mkdir(parents=True)
    (config.home / "spool" / "x.spool").write_bytes(b"x" * 600_000)
    finding = one(config.model_copy(update={"spool_mb": 1}), "memory")
    assert finding.verdict == "warning"
    assert "FOREGATE_SPOOL_MB" in finding.detail


def test_an_empty_installation_is_told_what_to_do_next(config):
    assert "import_servers" in one(config, "servers").detail


def test_a_port_in_use_is_a_warning_that_names_the_setting(config):
    with socket.create_server(("127.0.0.1", config.console_port)):
        finding = check_installation.check_port(config)
    assert finding.verdict == "warning"
    assert "FOREGATE_CONSOLE_PORT" in finding.detail


def test_a_console_that_runs_already_is_no_mistake(config, monkeypatch):
    monkeypatch.setattr(identity, "TIMEOUT_S", PATIENCE_S)
    with answering(config.console_port, console_of(config)):
        finding = check_installation.check_port(config)
    assert (finding.verdict, finding.detail.endswith("is served")) == ("ok", True)


def test_a_port_held_by_another_installation_is_reported(config, monkeypatch, tmp_path):
    monkeypatch.setattr(identity, "TIMEOUT_S", PATIENCE_S)
    others = config.model_copy(update={"home": tmp_path / "another"})
    for answer in (lambda _nonce: '{"status": "ok"}', console_of(others)):
        with answering(config.console_port, answer):
            finding = check_installation.check_port(config)
        assert finding.verdict == "warning"
        assert "FOREGATE_CONSOLE_PORT" in finding.detail


def test_networks_that_cannot_be_read_are_a_failure(config):
    odd = config.model_copy(update={"allow_private": "10.0.0.0/99"})
    (finding,) = check_installation.check_networks(odd)
    assert finding.detail.startswith("FOREGATE_ALLOW_PRIVATE: ")


def test_proxies_in_force_are_named_without_their_passwords():
    proxy = "http://ann:pa55@proxy.corp.example:3128"
    environ = {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": __file__, "HTTP_PROXY": ""}
    first, second = check_installation.check_proxies(environ)
    assert (first.verdict, second.verdict) == ("ok", "ok")
    assert "HTTPS_PROXY apply" in first.detail
    assert "SSL_CERT_FILE" in second.detail
    assert "pa55" not in first.detail
    assert not list(check_installation.check_proxies({}))


def test_proxies_and_authorities_that_cannot_be_used_are_warned_of():
    environ = {"ALL_PROXY": "socks5://p:1080", "NO_PROXY": "x", "SSL_CERT_DIR": "/nowhere:/no"}
    _, proxy, certificates = check_installation.check_proxies(environ)
    assert (proxy.verdict, certificates.verdict) == ("warning", "warning")
    assert proxy.detail.startswith("ALL_PROXY names no HTTP proxy")
    assert "SSL_CERT_DIR names cannot be read" in certificates.detail


def test_a_second_home_is_a_warning(config, tmp_path):
    (tmp_path / "usual" / "keys").mkdir(parents=True)
    (finding,) = check_installation.check_other_home(config)
    assert "holds another installation" in finding.detail


def test_a_model_that_cannot_be_loaded_is_a_failure(config, monkeypatch):
    class Broken(FakeEmbedder):
        def embed(self, texts, *, kind):
            raise EmbeddingUnavailable("no such model; choose another")

    monkeypatch.setattr(check_installation, "make_embedder", lambda _: Broken())
    assert one(config, "embedding model").detail == "no such model; choose another"


def test_missing_migrations_end_the_examination_with_what_to_do(config):
    MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")
    assert one(config, "migrations").verdict == "failure"
    assert all_of(config, "servers") == []


def test_migrations_of_a_newer_version_end_the_examination_unless_they_are_additive(config):
    MigrationRecorder(connection).record_applied("graph", "9998_more_additive")
    assert one(config, "migrations").verdict == "ok"
    MigrationRecorder(connection).record_applied("graph", "9999_later")
    found = one(config, "migrations")
    assert found.verdict == "failure"
    assert "graph.9999_later" in found.detail
    assert all_of(config, "servers") == []


def test_without_a_database_the_rest_is_left_out(config, monkeypatch):
    def away():
        raise OperationalError("nobody listens\nmore")

    monkeypatch.setattr(check_installation.connection, "cursor", away)
    assert one(config, "database").detail == "nobody listens"
    assert all_of(config, "migrations") == []


def test_a_clock_that_is_off_is_a_warning(config, monkeypatch):
    monkeypatch.setattr(check_installation.time, "time", lambda: 0.0)
    assert "synchronise" in check_installation.check_database().detail


def test_a_sealed_environment_that_no_key_opens_is_a_failure(config):
    Server.objects.create(
        name="git", command="x", env_sealed=Sealer([Fernet.generate_key()]).seal({"A": "1"})
    )
    detail = one(config, "server git").detail
    assert "secrets of server 'git' cannot be read" in detail
    assert "restore keys/sealing.keys" in detail


@pytest.mark.parametrize("keys", sealing.KEY_NAMES)
def test_keys_that_open_nothing_stored_are_a_failure_that_names_their_file(config, sealer, keys):
    Server.objects.create(name="git", command="x", env_sealed=sealer.seal({"A": "1"}))
    held(sealer)
    for name in sealing.KEY_NAMES:
        sealing.replace_lost_keys(config.home, name=name)
    assert any(f"keys/{keys}.keys" in finding.detail for finding in all_of(config, "keys"))


def test_a_database_that_takes_no_writes_is_a_failure(config):
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
    assert "read-only" in one(config, "database").detail


@pytest.mark.parametrize(("space", "verdict"), [(1_000, "warning"), (10**12, "ok")])
def test_little_room_is_a_warning(config, monkeypatch, space, verdict):
    monkeypatch.setattr(
        check_installation.shutil, "disk_usage", lambda _: type("Usage", (), {"free": space})()
    )
    assert check_installation.check_home(config).verdict == verdict


def test_a_demonstration_that_failed_is_a_warning_until_one_succeeds(config):
    servers.record_failure(config.home, "2 of 4 calls failed")
    (finding,) = check_installation.check_demonstration(config)
    assert (finding.verdict, "2 of 4 calls failed" in finding.detail) == ("warning", True)
    servers.record_failure(config.home, "")
    assert list(check_installation.check_demonstration(config)) == []


def test_a_home_that_cannot_be_written_is_a_failure(config, monkeypatch):
    monkeypatch.setattr(check_installation.os, "access", lambda *_: False)
    finding = check_installation.check_home(config)
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


@pytest.mark.parametrize(
    ("answered_at", "words"),
    [
        (None, "it has never answered"),
        (datetime(2026, 11, 20, 8, tzinfo=UTC), "it last answered at 2026-11-20 08:00"),
    ],
)
def test_a_server_that_timed_out_is_distinguished_from_a_failure(answered_at, words):
    (found,) = check_servers.judge_answer(
        ServerAnswer(name="s"), sign_in="", answered_at=answered_at
    )
    assert found.verdict == "warning"
    assert words in found.detail
    assert "--wait 60" in found.detail


@pytest.fixture
def asked(monkeypatch):
    """Names of the servers that were started, in their order."""
    names = []
    real = check_servers.ask_servers

    def ask(config, specs, sealer, **options):
        names.extend(spec.name for spec in specs)
        return real(config, specs, sealer, **options)

    monkeypatch.setattr(check_servers, "ask_servers", ask)
    return names


def test_servers_are_started_in_the_order_in_which_they_will_likely_answer(config, told, asked):
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    told("failing", last_error="exited", last_error_at=long_ago)
    told("answered", tools=1, last_connected_at=long_ago)
    told("new", tools=1)
    list(examine.run_checks(config))
    assert asked == ["answered", "new", "failing"]


def test_a_server_that_answered_a_short_while_ago_is_not_started(config, told, asked):
    ToolFactory(server=told("git", tools=1))
    now = timezone.now()  # after the row was written
    Server.objects.filter(name="git").update(last_connected_at=now, discovered_at=now)
    told("new", tools=2)
    found = one(config, "server git")
    assert (found.verdict, found.detail) == ("ok", "answered 0 min ago, 1 tools")
    assert asked == ["new"]
    list(examine.run_checks(config, wait_s=60.0))
    assert sorted(asked[1:]) == ["git", "new"]


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({"last_error": "exited", "last_error_at": timedelta(hours=1)}, "true"),
        ({"updated_at": timedelta(hours=1)}, "true"),
        ({"last_connected_at": -timedelta(days=2), "discovered_at": -timedelta(days=2)}, "true"),
        ({}, "no-such-command"),
    ],
)
def test_an_earlier_answer_is_ignored_if_the_server_failed_or_changed(
    config, told, fields, command
):
    now = timezone.now() + timedelta(seconds=1)
    times = {"last_connected_at": timedelta(0), "discovered_at": timedelta(0)} | fields
    told("git", command=command, error="failed")
    values = {
        name: now + value if isinstance(value, timedelta) else value
        for name, value in times.items()
    }
    Server.objects.filter(name="git").update(**values)
    assert one(config, "server git").verdict == "failure"


def test_a_server_that_timed_out_is_reported_with_its_last_error(config, told):
    told("npm", last_error="server 'npm': E404, no such package", last_error_at=timezone.now())
    found = one(config, "server npm")
    assert found.verdict == "warning"
    assert "still starting" in found.detail
    assert "failed the last time: E404, no such package" in found.detail


def test_the_last_output_of_a_failing_server_is_reported_and_printed_on_request(
    config, outside, settings, capsys
):
    settings.FOREGATE = config
    outside["bad"] = ServerAnswer(name="bad", error="gone", output=("one", "[two]"))
    ServerFactory(name="bad", command="true")
    for options, shown in (
        ((), "`doctor --verbose` shows its last 2"),
        (("--verbose",), "| [two]"),
    ):
        with pytest.raises(SystemExit):
            call_command("doctor", *options)
        assert shown in capsys.readouterr().out
    with pytest.raises(SystemExit):
        call_command("doctor", "--json")
    found = {item["check"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["server bad"]["output"] == ["one", "[two]"]


def test_a_real_server_is_probed_and_its_output_reported_on_failure(config, sealer):
    spec = ServerSpec(
        name="s", command="/bin/sh", args=("-c", "echo no current-context >&2; exit 1")
    )
    (answer,) = ASK(config, (spec,), sealer)
    assert "its last output: no current-context" in answer.error
    assert answer.output == ("no current-context",)


def test_a_secret_in_the_arguments_of_a_server_is_a_warning_that_does_not_show_it(config, told):
    told("bad", tools=1, args=["--token", "hunter2hunter2"])
    found = [each for each in all_of(config, "server bad") if each.verdict == "warning"]
    (warning,) = found
    assert "argument 2 (--token)" in warning.detail
    assert "--seal-secrets" in warning.detail
    assert "hunter" not in warning.detail
