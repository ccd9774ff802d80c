import asyncio
import json
import os
import signal
import threading

import pytest

from gateway_project.mcp import meta_tools, serve, stdio
from gateway_project.mcp.runtime import PreparedRuntime
from gateway_project.mcp.wire import ConversationReplay, ProtocolWire
from tests.patience import PATIENCE_S

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Ends:
    """The two pipes between a client and the gateway, and the client's side of them."""

    def __init__(self):
        read_fd, self.to_gateway = os.pipe()
        self.from_gateway, write_fd = os.pipe()
        self.wire = ProtocolWire(read_fd=read_fd, write_fd=write_fd)
        self.closed = set()

    def send(self, *messages):
        os.write(self.to_gateway, "".join(json.dumps(m) + "\n" for m in messages).encode())

    def answers(self):
        os.close(self.wire.write_fd)
        self.closed.add(self.wire.write_fd)
        with open(self.from_gateway, closefd=False) as file:
            return [json.loads(line) for line in file]

    def close(self, *descriptors):
        for descriptor in descriptors:
            if descriptor not in self.closed:
                self.closed.add(descriptor)
                os.close(descriptor)


@pytest.fixture
def ends(monkeypatch):
    monkeypatch.setenv("FOREGATE_EXPOSURE", "meta")  # whose list needs nothing that is wired
    monkeypatch.setattr(serve, "_exit_in_time", lambda: None)
    monkeypatch.setattr(stdio, "DRAIN_TIMEOUT_S", PATIENCE_S)
    made, others = Ends(), set(threading.enumerate())
    yield made
    made.close(made.to_gateway)
    # A thread that still reads would take the lines of the next test, whose pipe gets this number.
    for thread in set(threading.enumerate()) - others:
        if thread.name == "stdin":
            thread.join(PATIENCE_S)
    made.close(made.to_gateway, made.from_gateway, made.wire.read_fd, made.wire.write_fd)


def prepared(wired, unwired):
    async def handle(_readiness, _ctx):
        raise AssertionError

    async def wire(_readiness):
        wired.set()
        try:
            await asyncio.Event().wait()
        finally:
            unwired.set()

    return PreparedRuntime(handle=handle, run_wiring=wire)


def run(ends, client=None):
    """Serve until something ends it; returns whether the wiring was taken down."""
    wired, unwired = threading.Event(), threading.Event()
    if client is not None:
        threading.Thread(target=client, args=(wired,)).start()
    serve.serve_stdio(ends.wire, prepare=lambda: prepared(wired, unwired))
    return unwired.is_set()


def test_a_client_that_sends_and_closes_gets_its_answers(ends):
    ends.send(HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, LIST)
    ends.close(ends.to_gateway)
    run(ends)
    hello, listed = ends.answers()
    assert hello["result"]["serverInfo"]["name"] == "foregate"
    assert len(listed["result"]["tools"]) == len(meta_tools.TOOLS)


def test_the_end_of_the_input_ends_the_wiring_too(ends):
    def client(wired):
        wired.wait(PATIENCE_S)
        ends.close(ends.to_gateway)

    assert run(ends, client)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_cleanly(ends, number):
    before = signal.getsignal(number)

    def client(wired):
        wired.wait(PATIENCE_S)
        os.kill(os.getpid(), number)

    try:
        assert run(ends, client)
    finally:
        signal.signal(number, before)


def test_a_client_that_stops_reading_ends_the_gateway(ends):
    def client(wired):
        wired.wait(PATIENCE_S)
        ends.close(ends.from_gateway)
        ends.send(HELLO)

    assert run(ends, client)


def test_a_defect_of_the_server_is_not_hidden(ends, monkeypatch):
    def build(*_args, **_values):
        raise ZeroDivisionError

    monkeypatch.setattr(serve.mcp_server, "build_server", build)
    with pytest.raises(ZeroDivisionError):
        run(ends)


@pytest.mark.parametrize(("prelude", "is_loading"), [(ConversationReplay(), True), (None, False)])
def test_models_load_for_a_client_that_was_handed_over(ends, prelude, is_loading):
    wired, loading = threading.Event(), []

    async def wire(readiness):
        loading.append(readiness.in_use.is_set())
        wired.set()
        await asyncio.Event().wait()

    def client():
        wired.wait(PATIENCE_S)
        ends.close(ends.to_gateway)

    threading.Thread(target=client).start()
    made = PreparedRuntime(handle=None, run_wiring=wire)
    serve.serve_stdio(ends.wire, prepare=lambda: made, prelude=prelude)
    assert loading == [is_loading]
