import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command

from gateway_project.console import identity, idle_stop, on_demand
from gateway_project.foundation.config import Config
from gateway_project.mcp.attach import sockets
from gateway_project.mcp.http.address import ListenAddress
from tests.journeys.gateways import free_port
from tests.patience import PATIENCE_S

PRINT_PID = "import os; print(os.getpid())"
LINK = "http://127.0.0.1:8420/approvals/1"


@pytest.fixture
def config(home):
    return Config(home=home, console_port=free_port())


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """A console that answers is a thread of this process, which may stand still."""
    monkeypatch.setattr(identity, "TIMEOUT_S", PATIENCE_S)


@pytest.fixture
def started(monkeypatch):
    """Start nothing, and tell what would be started."""
    commands = []

    class Process:
        def __init__(self, words, **options):
            commands.append((words, options))
            for descriptor in options["pass_fds"]:
                os.set_inheritable(descriptor, True)
            self.kept = [os.dup(descriptor) for descriptor in options["pass_fds"]]
            kept.extend(self.kept)

        def wait(self):
            return 0

    kept = []
    replaced = SimpleNamespace(Popen=Process, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(on_demand, "subprocess", replaced)
    yield commands
    for descriptor in kept:
        os.close(descriptor)


@contextmanager
def answering(port, answer):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = answer(parse_qs(urlsplit(self.path).query).get("nonce", [""])[0]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Log nothing."""

    with HTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join(timeout=PATIENCE_S)


def console_of(config):
    return lambda nonce: json.dumps({"proof": identity.compute_proof(config, nonce)})


def test_a_console_of_this_installation_proves_it(config, tmp_path):
    address = ListenAddress(host="127.0.0.1", port=config.console_port)
    others = config.model_copy(update={"home": tmp_path / "another"})
    elsewhere = config.model_copy(update={"database_url": "postgresql://host/other"})
    with answering(config.console_port, console_of(config)):
        assert identity.is_own_console(config, address)
        assert not identity.is_own_console(others, address)
        assert not identity.is_own_console(elsewhere, address)
    assert not identity.is_own_console(config, address)


@pytest.mark.parametrize("said", ['{"status": "ok"}', "[]", "no JSON", '{"proof": 1}', "{}"])
def test_any_other_program_on_the_port_is_recognised(config, said):
    with answering(config.console_port, lambda _nonce: said):
        address = ListenAddress(host="127.0.0.1", port=config.console_port)
        assert not identity.is_own_console(config, address)


def test_a_console_that_serves_is_found_and_none_is_started(config, started):
    with answering(config.console_port, console_of(config)):
        found = on_demand.find_or_start_console(config)
    assert (found, started) == (f"http://127.0.0.1:{config.console_port}", [])


def test_a_console_is_started_on_the_configured_port_and_its_address_takes_connections(
    config, started
):
    found = on_demand.find_or_start_console(config)
    assert found == f"http://127.0.0.1:{config.console_port}"
    socket.create_connection(("127.0.0.1", config.console_port), timeout=PATIENCE_S).close()
    ((words, options),) = started
    assert "--on-demand" in words
    assert options["start_new_session"]
    assert (options["stdin"], options["stdout"]) == (subprocess.DEVNULL, subprocess.DEVNULL)


def test_concurrent_requests_get_the_same_address(config, started):
    first = on_demand.find_or_start_console(config)
    assert on_demand.find_or_start_console(config) == first
    assert len(started) == 1


def test_a_port_used_by_another_program_is_left_alone(config, started):
    with answering(config.console_port, lambda _nonce: "{}"):
        found = on_demand.find_or_start_console(config)
    assert urlsplit(found).hostname == "127.0.0.1"
    assert urlsplit(found).port != config.console_port
    assert len(started) == 1


def test_an_unauthenticated_record_is_ignored(config, started):
    on_demand.find_or_start_console(config)
    folder = sockets.socket_folder(config.home)
    record = json.loads((folder / on_demand.RECORD_FILE).read_text())
    assert on_demand._read_record(folder) is not None
    ended = subprocess.run(
        [sys.executable, "-S", "-c", PRINT_PID], capture_output=True, check=True
    )
    (folder / on_demand.RECORD_FILE).write_text(json.dumps(record | {"pid": int(ended.stdout)}))
    assert on_demand._read_record(folder) is None


def test_a_console_without_a_public_address_listens_on_this_machine_alone(config, started):
    everywhere = config.model_copy(update={"console_host": "0.0.0.0"})  # noqa: S104
    assert on_demand.find_or_start_console(everywhere) == f"http://127.0.0.1:{config.console_port}"


@pytest.mark.parametrize(
    "changes", [{"public_url": "https://gate.example/"}, {"console_on_demand": False}]
)
def test_no_console_is_started_if_disabled_or_reached_elsewhere(config, started, changes):
    found = on_demand.find_or_start_console(config.model_copy(update=changes))
    here = f"http://127.0.0.1:{config.console_port}"
    assert found == ("https://gate.example" if "public_url" in changes else here)
    assert started == []


async def test_where_none_can_be_had_there_is_no_link(config, monkeypatch, started):
    def refuse(_address):
        raise on_demand.AddressError("cannot listen")

    monkeypatch.setattr(on_demand.addresses, "open_listener", refuse)
    assert await on_demand.open_console(config) == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_pending", [True, False])
async def test_a_console_withdraws_its_address_before_it_looks_for_approvals(
    config, monkeypatch, is_pending
):
    record = sockets.socket_folder(config.home) / on_demand.RECORD_FILE
    seen = []

    def is_any_pending():
        seen.append(record.exists())
        return is_pending

    monkeypatch.setattr(idle_stop.approvals, "is_any_pending", is_any_pending)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        on_demand.publish_record(config, listener)
        assert record.exists()
        assert await idle_stop._withdraw_unless_needed(config, listener) is is_pending
    assert seen == [False]
    assert record.exists() is is_pending


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("is_terminal", "options", "is_told"),
    [(True, (), True), (False, (), False), (False, ("--print-password",), True)],
)
def test_a_password_is_printed_at_a_terminal_or_on_request_alone(
    config, settings, started, is_terminal, options, is_told
):
    settings.FOREGATE = config
    with answering(config.console_port, console_of(config)):
        out = StringIO()
        out.isatty = lambda: is_terminal
        call_command("open_console", *options, stdout=out)
    assert f"Console: http://127.0.0.1:{config.console_port}/" in out.getvalue()
    assert ("with the one-time password" in out.getvalue()) is is_told
    assert ("at a terminal" in out.getvalue()) is not is_told
    assert started == []
