import json
import os
import threading
from contextlib import suppress

import pytest

from gateway_project.mcp.first_answers import FirstAnswers
from gateway_project.mcp.wire import ProtocolWire
from tests.patience import PATIENCE_S

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": True}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(method, number=1, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def hello(number=1, *, version="2025-06-18", name="test", capabilities=None):
    return request(
        "initialize",
        number,
        protocolVersion=version,
        capabilities=capabilities or {},
        clientInfo={"name": name, "version": "1"},
    )


def change(name, **params):
    message = {"jsonrpc": "2.0", "method": f"notifications/{name}/list_changed"}
    return message | ({"params": params} if params else {})


def acknowledgement(**params):
    method = "notifications/subscriptions/acknowledged"
    return {"jsonrpc": "2.0", "method": method, "params": params}


def listen(number="s", **notifications):
    wanted = notifications or {"toolsListChanged": True}
    return request("subscriptions/listen", number, _meta=META, notifications=wanted)


class Gateway:
    """What a loaded gateway answers; lists can be replaced, and requests are recorded."""

    def __init__(self):
        self.results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": CAPABILITIES},
            "server/discover": {"supportedVersions": ["2026-07-28"], "ttlMs": 9, "_meta": {}},
            "tools/list": {"tools": [{"name": "a"}]},
            "prompts/list": {"prompts": []},
            "resources/list": {"resources": []},
            "tools/call": {"content": []},
            "ping": {},
        }
        self.acknowledges = {"toolsListChanged": True}
        self.read = []

    def answer(self, line):
        message = json.loads(line)
        self.read.append(message)
        if "id" not in message:
            return []
        if message["method"] == "subscriptions/listen":
            meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
            return [acknowledgement(notifications=self.acknowledges, _meta=meta)]
        result = self.results.get(message["method"])
        outcome = {"error": {"code": 1, "message": "no"}} if result is None else {"result": result}
        return [{"jsonrpc": "2.0", "id": message["id"], **outcome}]


class Process:
    """A gateway process as its client sees it: first answers, then a gateway that takes over."""

    def __init__(self, home, gateway, *, setup="setup"):
        self.watched = []  # whether, at each change
        (self.read_fd, self.to_gateway), (self.from_gateway, self.write_fd) = os.pipe(), os.pipe()
        self.gateway = gateway
        wire = ProtocolWire(read_fd=self.read_fd, write_fd=self.write_fd)
        self.first = FirstAnswers(wire, home, setup=setup, watch=self._watch)
        self._output = os.fdopen(self.from_gateway, "rb")
        self.needed = threading.Event()
        self.first.call_when_needed(self.needed.set)

    def send(self, *messages):
        os.write(self.to_gateway, b"".join(json.dumps(m).encode() + b"\n" for m in messages))

    def _watch(self, _):
        self.watched.append(True)
        return self

    def end(self):
        self.watched.append(False)

    def receive(self):
        return json.loads(self._output.readline())

    def load(self):
        """Have the gateway take over; return what the client receives of it."""
        received = []
        lines = self.first.hand_over().unsent.splitlines()
        for line in lines:
            self.first.note_input(line)
        for line in lines:
            for message in self.gateway.answer(line):
                written = json.dumps(message, separators=(",", ":")).encode() + b"\n"
                received += self.first.filter_output(written).splitlines()
        return [json.loads(line) for line in received]

    def serve(self, *messages):
        """Have messages answered by a gateway that takes over at once."""
        self.send(*messages)
        self.first.start()
        assert self.needed.wait(PATIENCE_S)
        return self.load()

    def close(self):
        os.close(self.to_gateway)
        self._output.close()
        for descriptor in (self.read_fd, self.write_fd):
            os.close(descriptor)


@pytest.fixture
def gateway():
    return Gateway()


@pytest.fixture
def begin(tmp_path, gateway):
    """Begin processes of one installation, one after the other."""
    begun = []

    def begin(**values):
        begun.append(Process(tmp_path, gateway, **values))
        return begun[-1]

    yield begin
    for process in begun:
        process.close()


@pytest.fixture
def kept(begin, gateway):
    """An installation that has served a client of each era."""
    begin().serve(
        hello(), INITIALIZED, request("tools/list", 2), request("resources/list", 3, _meta={})
    )
    begin().serve(request("server/discover", 1, _meta=META), request("tools/list", 2, _meta=META))
    gateway.read.clear()


def test_nothing_is_answered_before_a_gateway_has_answered_it_once(begin, gateway):
    received = begin().serve(hello(), INITIALIZED, request("tools/list", 2))
    assert [message["id"] for message in received] == [1, 2]
    assert gateway.read == [hello(), INITIALIZED, request("tools/list", 2)]


@pytest.mark.usefixtures("kept")
def test_a_handshake_and_lists_are_answered_before_a_gateway_is_there(begin, gateway):
    process = begin()
    process.send(hello("x"), INITIALIZED, request("tools/list", 7), request("resources/list", 8))
    process.first.start()
    answers = [process.receive() for _ in range(3)]
    assert [answer["id"] for answer in answers] == ["x", 7, 8]
    assert [answer["result"] for answer in answers] == [
        gateway.results[name] for name in ("initialize", "tools/list", "resources/list")
    ]
    assert not process.needed.is_set()


@pytest.mark.usefixtures("kept")
def test_a_stateless_client_is_answered_without_a_handshake(begin):
    process = begin()
    process.send(request("tools/list", 5, _meta=META | {"traceparent": "x"}))
    process.first.start()
    assert process.receive()["result"] == {"tools": [{"name": "a"}]}


@pytest.mark.usefixtures("kept")
def test_a_ping_after_the_handshake_is_answered(begin):
    process = begin()
    process.send(hello(), {"jsonrpc": "2.0", "id": 2, "method": "ping"})
    process.first.start()
    assert [process.receive()["id"] for _ in range(2)] == [1, 2]


@pytest.mark.usefixtures("kept")
def test_the_gateway_reads_the_whole_conversation_in_order_and_its_answers_are_not_seen_twice(
    begin, gateway
):
    level = request("logging/setLevel", 3, level="debug")
    call = request("tools/call", 4, name="a", arguments={})
    rest = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    process = begin()
    received = process.serve(hello(), INITIALIZED, request("tools/list", 2), level, call, rest)
    assert [message["id"] for message in received] == [3, 4]
    first, second, third, *others = gateway.read
    assert first == hello() | {"id": "foregate/resume/first/0"}
    assert second == INITIALIZED
    assert third == request("tools/list", "foregate/resume/first/1")
    assert others == [level, call, rest]


@pytest.mark.usefixtures("kept")
def test_a_replayed_request_reports_no_progress(begin, gateway):
    process = begin()
    process.send(hello(), request("tools/list", 2, _meta={"progressToken": 5, "other": 1}))
    process.first.start()
    assert [process.receive()["id"] for _ in range(2)] == [1, 2]
    process.load()
    assert gateway.read[1]["params"] == {"_meta": {"other": 1}}


@pytest.mark.usefixtures("kept")
def test_a_line_that_is_cut_at_the_takeover_is_completed_by_the_gateway(begin):
    process = begin()
    line = json.dumps(request("tools/call", 2, name="a")).encode() + b"\n"
    process.send(hello(), request("prompts/get", 3))
    os.write(process.to_gateway, line[:20])
    process.first.start()
    assert process.needed.wait(PATIENCE_S)
    os.write(process.to_gateway, line[20:])
    _, _, *rest = process.first.hand_over().unsent.splitlines(keepends=True)
    os.set_blocking(process.read_fd, False)  # the thread may have read all of it before it stopped
    with suppress(BlockingIOError):
        rest.append(os.read(process.read_fd, 1000))
    assert b"".join(rest) == line


@pytest.mark.parametrize(
    "message",
    [
        hello(version="2025-03-26"),
        hello(capabilities={"sampling": {}}),
        hello() | {"jsonrpc": "1.0"},
        hello() | {"id": None},
        request("initialize"),
        request("initialize", clientInfo=7, protocolVersion="2025-06-18", capabilities={}),
        request("tools/list"),
        request("tools/list", _meta=META | {"io.modelcontextprotocol/protocolVersion": "x"}),
        request("tools/list", _meta=META, cursor="x"),
        request("tools/list", _meta=META, other="x"),
        request("tools/list", _meta=7),
        request("server/discover"),
        request("ping"),
        [hello()],
    ],
)
@pytest.mark.usefixtures("kept")
def test_what_could_be_answered_otherwise_waits_for_the_gateway(begin, message):
    process = begin()
    process.send(message)
    process.first.start()
    assert process.needed.wait(PATIENCE_S)
    assert json.loads(process.first.hand_over().unsent) == message


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("refused", [hello(2), request("tools/list", 2)])
def test_a_client_that_opened_without_a_handshake_needs_the_gateway_for_one(begin, refused):
    process = begin()
    process.send(request("server/discover", 1, _meta=META), refused)
    process.first.start()
    assert process.receive()["id"] == 1
    assert process.needed.wait(PATIENCE_S)
    assert json.loads(process.first.hand_over().unsent.splitlines()[1]) == refused


@pytest.mark.usefixtures("kept")
def test_after_a_handshake_a_stateless_request_needs_the_gateway(begin):
    process = begin()
    process.send(hello(), request("tools/list", 2, _meta=META))
    process.first.start()
    assert process.receive()["id"] == 1
    assert process.needed.wait(PATIENCE_S)


@pytest.mark.usefixtures("kept")
def test_what_follows_a_line_that_cannot_be_read_needs_the_gateway(begin):
    process = begin()
    os.write(process.to_gateway, b'{"id": 1, "method": \n')
    process.send(request("tools/list", 2, _meta=META))
    process.first.start()
    assert process.needed.wait(PATIENCE_S)
    assert process.first.hand_over().unsent.count(b"\n") == 2


@pytest.mark.usefixtures("kept")
def test_the_name_of_a_client_decides_which_tools_it_is_shown_and_nothing_else(begin):
    process = begin()
    process.send(hello(name="another"), INITIALIZED, request("resources/list", 2))
    process.first.start()
    assert [process.receive()["id"] for _ in range(2)] == [1, 2]
    process.send(request("tools/list", 3))
    assert process.needed.wait(PATIENCE_S)


@pytest.mark.usefixtures("kept")
def test_a_client_that_was_updated_is_shown_the_tools_that_it_was_shown_before(begin):
    process = begin()
    other = {"io.modelcontextprotocol/clientInfo": {"name": "test", "version": "2"}}
    process.send(request("tools/list", 2, _meta=META | other))
    process.first.start()
    assert process.receive()["result"] == {"tools": [{"name": "a"}]}


@pytest.mark.usefixtures("kept")
def test_a_gateway_set_up_otherwise_gives_answers_of_its_own(begin):
    process = begin(setup="another")
    process.send(hello())
    process.first.start()
    assert process.needed.wait(PATIENCE_S)


@pytest.mark.usefixtures("kept")
def test_a_handshake_is_asked_again_once_servers_say_something_else(begin, tmp_path):
    (tmp_path / "instructions.json").write_text('{"a": "use it"}')
    process = begin()
    process.send(hello())
    process.first.start()
    assert process.needed.wait(PATIENCE_S)


@pytest.mark.usefixtures("kept")
def test_a_client_learns_of_a_list_that_differs_from_what_it_was_sent(begin, gateway):
    gateway.results["tools/list"] = {"tools": [{"name": "b"}]}
    process = begin()
    received = process.serve(hello(), request("tools/list", 2), request("tools/call", 3))
    assert received[0] == change("tools")
    assert [message.get("id") for message in received[1:]] == [3]
    again = begin()
    again.send(hello(), request("tools/list", 2))
    again.first.start()
    assert [again.receive()["id"], again.receive()["result"]] == [1, {"tools": [{"name": "b"}]}]


@pytest.mark.usefixtures("kept")
def test_no_change_is_announced_without_the_capability(begin, gateway):
    begin().serve(hello(), request("prompts/list", 2), request("tools/call", 3))
    gateway.results["prompts/list"] = {"prompts": [{"name": "p"}]}
    received = begin().serve(hello(), request("prompts/list", 2), request("tools/call", 3))
    assert [message.get("id") for message in received] == [3]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("listens_first", [True, False])
def test_a_stateless_client_learns_of_it_on_its_stream_of_changes(begin, gateway, listens_first):
    gateway.results["tools/list"] = {"tools": [{"name": "b"}]}
    listing = request("tools/list", 2, _meta=META)
    received = begin().serve(*([listen(), listing] if listens_first else [listing, listen()]))
    acknowledged, changed = received
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert changed == change("tools", _meta={"io.modelcontextprotocol/subscriptionId": "s"})


@pytest.mark.usefixtures("kept")
def test_a_stream_is_told_of_no_list_that_it_did_not_ask_for(begin, gateway):
    gateway.results["tools/list"] = {"tools": [{"name": "b"}]}
    listens = listen(promptsListChanged=True)
    assert len(begin().serve(request("tools/list", 2, _meta=META), listens)) == 1


OF_STREAM = {"io.modelcontextprotocol/subscriptionId": "s"}


@pytest.fixture
def started(kept, begin, gateway):
    """A client that has had its stream acknowledged and its list before a gateway is there."""
    begin().serve(listen(1))
    gateway.read.clear()
    process = begin()
    process.send(listen(), request("tools/list", 2, _meta=META))
    process.first.start()
    acknowledged, listed = process.receive(), process.receive()
    assert acknowledged == acknowledgement(notifications=gateway.acknowledges, _meta=OF_STREAM)
    assert listed["result"] == {"tools": [{"name": "a"}]}
    assert not process.needed.is_set()
    return process


def test_a_stream_acknowledged_early_is_opened_by_the_gateway_and_acknowledged_once(
    started, gateway
):
    assert started.load() == []
    assert gateway.read[0] == listen()
    assert not started.first.is_following


def test_a_stream_acknowledged_early_is_told_what_has_changed(started, gateway):
    gateway.results["tools/list"] = {"tools": []}
    assert started.load() == [change("tools", _meta=OF_STREAM)]


def test_a_gateway_that_acknowledges_something_else_is_heard_and_believed_next_time(
    started, begin, gateway
):
    gateway.acknowledges = {}
    other = acknowledgement(notifications={}, _meta=OF_STREAM)
    assert started.load() == [other]
    again = begin()
    again.send(listen())
    again.first.start()
    assert again.receive() == other


def test_a_stream_that_a_gateway_refuses_is_not_acknowledged_early_again(started, begin):
    for line in started.first.hand_over().unsent.splitlines():
        started.first.note_input(line)
    refusal = b'{"jsonrpc":"2.0","id":"s","error":{"code":1,"message":"no"}}\n'
    assert started.first.filter_output(refusal) == refusal
    again = begin()
    again.send(listen())
    again.first.start()
    assert again.needed.wait(PATIENCE_S)


@pytest.mark.usefixtures("started")
def test_a_stream_of_a_resource_needs_the_gateway(begin):
    process = begin()
    process.send(listen(toolsListChanged=True, resourceSubscriptions=["file:///a"]))
    process.first.start()
    assert process.needed.wait(PATIENCE_S)


def test_a_list_of_one_caller_is_cached_only_briefly_by_a_stateless_client(begin, gateway):
    gateway.results["tools/list"] = {"tools": [], "ttlMs": 300_000, "cacheScope": "private"}
    begin().serve(request("tools/list", 2, _meta=META))
    process = begin()
    process.send(request("tools/list", 2, _meta=META), request("tools/call", 3, _meta=META))
    process.first.start()
    assert process.receive()["result"]["ttlMs"] == 2_000
    assert process.needed.wait(PATIENCE_S)
    assert [message["id"] for message in process.load()] == [3]


@pytest.mark.parametrize(
    "result", [None, {"tools": [], "_meta": {"foregate/error": {"code": "unknown_user"}}}]
)
@pytest.mark.usefixtures("kept")
def test_what_a_gateway_does_not_answer_any_more_is_forgotten(begin, gateway, result):
    gateway.results["tools/list"] = result
    received = begin().serve(hello(), request("tools/list", 2), request("tools/call", 3))
    assert received[0] == change("tools")
    process = begin()
    process.send(hello(), request("tools/list", 2))
    process.first.start()
    assert process.needed.wait(PATIENCE_S)


@pytest.mark.parametrize("code", ["starting", "stopping"])
@pytest.mark.usefixtures("kept")
def test_a_gateway_that_starts_or_stops_says_nothing_of_what_was_sent(begin, gateway, code):
    listed = gateway.results["tools/list"]
    gateway.results["tools/list"] = {"tools": [], "_meta": {"foregate/error": {"code": code}}}
    received = begin().serve(hello(), request("tools/list", 2), request("tools/call", 3))
    assert [message.get("id") for message in received] == [3]
    process = begin()
    process.send(hello(), request("tools/list", 2))
    process.first.start()
    assert [process.receive()["id"], process.receive()["result"]] == [1, listed]


@pytest.mark.usefixtures("kept")
def test_a_client_that_leaves_needs_the_gateway_once_it_loads(begin):
    process = begin()
    process.send(hello())
    process.first.start()
    assert process.receive()["id"] == 1
    read_end = os.dup(process.read_fd)
    os.close(process.to_gateway)
    process.to_gateway = read_end
    assert process.needed.wait(PATIENCE_S)


def test_a_client_is_watched_until_it_has_the_answers_that_were_not_kept(begin, gateway):
    impatient = hello(name="codex-mcp-client")
    first = begin()
    gateway.results["tools/list"] = {
        "tools": [],
        "_meta": {"foregate/error": {"code": "starting"}},
    }
    patient = begin()
    patient.serve(hello(), INITIALIZED, request("tools/list", 2))
    assert patient.watched == []
    first.serve(impatient, INITIALIZED, request("tools/list", 2))
    assert first.watched == [True]  # it was told to ask again
    gateway.results["tools/list"] = {"tools": []}
    second = begin()
    second.serve(impatient, INITIALIZED, request("tools/list", 2))
    assert second.watched == [True, False]
    third = begin()
    third.send(impatient, INITIALIZED, request("tools/list", 2))
    third.first.start()
    third.receive()
    third.load()
    assert third.watched == []
