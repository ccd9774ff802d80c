import asyncio
import json
import os
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress

import pytest

from gateway_project.mcp.attach import hello
from gateway_project.mcp.attach import host as host_module
from gateway_project.mcp.attach import relay as relay_module
from gateway_project.mcp.attach.host import AttachHost, AttachRefused
from gateway_project.mcp.attach.relay import attach_to_gateway, relay_lines
from gateway_project.mcp.wire import Conversation, ConversationReplay, ProtocolWire
from tests.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Both sides are threads of this process, which may stand still while they greet."""
    for module in (host_module, relay_module):
        monkeypatch.setattr(module, "HELLO_TIMEOUT_S", PATIENCE_S)


class Hosting:
    """A host in a thread of its own, whose clients get every line back, marked."""

    def __init__(self, home, *, exposure="meta", variables=(), environ=None):
        self.home, self.users, self.groups, self.folders = home, [], [], []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._up = threading.Event()
        self.host = AttachHost(
            home,
            exposure=exposure,
            variables=lambda: variables,
            admit=self._admit,
            environ=environ or {},
        )
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _admit(self, user, group, folder):
        self.folders.append(folder)
        self.groups.append(group)
        if user == "nobody":
            raise AttachRefused("no active user 'nobody'")
        self.users.append(user)
        return self._echo

    async def _echo(self, lines, writer):
        async for line in lines:
            message = json.loads(line)
            if message.get("method") != "silence":
                answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": message}
                await writer.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")

    async def _run(self):
        self._loop = asyncio.get_running_loop()
        async with self.host.listen():
            self._up.set()
            await self._stop.wait()

    def __enter__(self):
        self._thread.start()
        assert self._up.wait(PATIENCE_S)
        return self

    def __exit__(self, *_):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)


class Outcome(list):
    """What relaying came to, once that is known."""

    def __init__(self):
        self.known = threading.Event()


@contextmanager
def client(connection, *, prelude=None):
    """A client's two ends of a wire that is relayed; yields (write, read, outcome)."""
    (to_read, to_write), (from_read, from_write) = os.pipe(), os.pipe()
    outcome = Outcome()
    wire = ProtocolWire(read_fd=to_read, write_fd=from_write)

    def run():
        outcome.append(relay_lines(wire, connection, Conversation(), prelude=prelude))
        outcome.known.set()

    thread = threading.Thread(target=run)
    thread.start()
    with os.fdopen(to_write, "wb", 0) as write, os.fdopen(from_read, "rb") as read:
        yield write, read, outcome
        if not write.closed:
            write.close()
        thread.join(PATIENCE_S)
    os.close(from_write)
    os.close(to_read)


def request(identifier, method="ping"):
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": method}).encode() + b"\n"


def test_lines_go_both_ways_until_the_client_ends(tmp_path):
    with Hosting(tmp_path) as hosting:
        connection = attach_to_gateway(tmp_path, user="ann", exposure="meta", environ={})
        with client(connection) as (write, read, outcome):
            write.write(request(1) + request(2)[:10])
            write.write(request(2)[10:])
            assert [json.loads(read.readline())["id"] for _ in range(2)] == [1, 2]
        assert outcome == [None]
        assert hosting.users == ["ann"]
        assert hosting.groups == [None]


def test_when_the_gateway_ends_the_client_can_go_on_elsewhere(tmp_path):
    hosting = Hosting(tmp_path)
    with hosting:
        connection = attach_to_gateway(tmp_path, user="ann", exposure="meta", environ={})
        with client(connection) as (write, read, outcome):
            write.write(request(0, "initialize") + request(7, "silence"))
            assert json.loads(read.readline())["id"] == 0
            hosting.__exit__()
            lost = json.loads(read.readline())
            assert (lost["id"], lost["error"]["code"]) == (7, -32603)
            assert outcome.known.wait(PATIENCE_S)
    [prelude] = outcome
    assert [json.loads(line)["method"] for line in prelude.lines] == ["initialize"]
    assert prelude.unsent == b""


def test_a_partial_line_is_kept_for_the_next_gateway(tmp_path):
    hosting = Hosting(tmp_path)
    with hosting:
        connection = attach_to_gateway(tmp_path, user="ann", exposure="meta", environ={})
        with client(connection) as (write, read, outcome):
            write.write(request(1) + request(2)[:10])
            assert json.loads(read.readline())["id"] == 1
            hosting.__exit__()
            assert outcome.known.wait(PATIENCE_S)  # or the client's end comes first
    [prelude] = outcome
    assert prelude.unsent == request(2)[:10]


@pytest.mark.parametrize(
    ("user", "exposure", "environ"),
    [
        ("nobody", "meta", {}),
        ("ann", "full", {}),
        ("ann", "meta", {"TOKEN": "another"}),
    ],
)
def test_an_incompatible_gateway_is_left_alone(tmp_path, user, exposure, environ):
    with Hosting(tmp_path, variables=["TOKEN"], environ={"TOKEN": "x"}) as hosting:
        given = {"TOKEN": "x", **environ}
        assert attach_to_gateway(tmp_path, user=user, exposure=exposure, environ=given) is None
        assert hosting.users == []


def test_the_socket_of_a_dead_gateway_is_swept_away(tmp_path):
    path = hello.prepare_socket(tmp_path).with_name("1.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert attach_to_gateway(tmp_path, user="ann", exposure="meta", environ={}) is None
    assert not path.exists()


def test_a_gateway_that_is_too_busy_to_accept_keeps_its_socket(tmp_path):
    path = hello.prepare_socket(tmp_path).with_name("1.sock")
    with ExitStack() as waiting, socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen(0)
        with suppress(OSError):
            while True:  # until its queue is full
                one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                one.settimeout(0.0)
                one.connect(str(path))
        assert attach_to_gateway(tmp_path, user="ann", exposure="meta", environ={}) is None
        assert path.exists()


def test_without_a_gateway_there_is_nothing_to_attach_to(tmp_path):
    assert attach_to_gateway(tmp_path, user="ann", exposure="meta", environ={}) is None


def test_a_host_takes_its_socket_with_it(tmp_path):
    with Hosting(tmp_path):
        assert len(hello.find_sockets(tmp_path)) == 1
    assert hello.find_sockets(tmp_path) == ()


def test_a_client_is_handed_to_another_gateway_transparently(tmp_path):
    prelude = ConversationReplay(
        lines=(request("foregate/resume/0", "initialize"),), unsent=request(1)[:5]
    )
    with Hosting(tmp_path):
        connection = attach_to_gateway(tmp_path, user="ann", exposure="meta", environ={})
        with client(connection, prelude=prelude) as (write, read, _):
            write.write(request(1)[5:])
            assert json.loads(read.readline())["id"] == 1


def test_the_host_is_told_the_tool_group_and_the_folder_of_a_client(tmp_path, monkeypatch):
    with Hosting(tmp_path) as hosting:
        for folder, environ in (("/", {}), (tmp_path, {}), ("/", {"CLAUDE_PROJECT_DIR": "/p"})):
            monkeypatch.chdir(folder)
            connection = attach_to_gateway(
                tmp_path, user="ann", group="desk", exposure="meta", environ=environ
            )
            connection.close()
        assert hosting.groups == ["desk"] * 3
        assert hosting.folders == ["", str(tmp_path), "/p"]
