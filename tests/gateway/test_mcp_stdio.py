import asyncio
import functools
import json
import os
import threading

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from gateway_project.mcp import stdio
from gateway_project.mcp.conversation import ConversationReplay
from gateway_project.mcp.refused_lines import LineTooLong
from gateway_project.mcp.stdio import LineReader, LineWriter
from gateway_project.mcp.wire import ProtocolWire
from tests.patience import PATIENCE_S


class Pipe:
    """Both ends of a pipe, closed with the test."""

    def __init__(self):
        self.read_fd, self.write_fd = os.pipe()

    def write(self, data):
        os.write(self.write_fd, data)

    def close(self, descriptor):
        os.close(descriptor)
        if descriptor == self.write_fd:
            self.write_fd = -1
        else:
            self.read_fd = -1


@pytest.fixture
def pipe():
    made, others = Pipe(), set(threading.enumerate())
    yield made
    if made.write_fd >= 0:
        os.close(made.write_fd)
    # A thread that still reads would take the lines of the next test, whose pipe gets this number.
    for thread in set(threading.enumerate()) - others:
        thread.join(PATIENCE_S)
    if made.read_fd >= 0:
        os.close(made.read_fd)


def reader(pipe, **values):
    lines = LineReader(pipe.read_fd, **values)
    lines.start(asyncio.get_running_loop())
    return lines


async def read_all(lines):
    async with asyncio.timeout(PATIENCE_S):
        return [line async for line in lines]


async def test_lines_arrive_whole_however_they_are_cut(pipe):
    lines = reader(pipe)
    for part in (b'{"a"', b':1}\n{"b":2}\n{', b'"c":3}\n'):
        pipe.write(part)
    pipe.close(pipe.write_fd)
    assert await read_all(lines) == ['{"a":1}', '{"b":2}', '{"c":3}']


async def test_a_last_line_without_newline_is_read(pipe):
    lines = reader(pipe)
    pipe.write(b"a\n\n  \nb")
    pipe.close(pipe.write_fd)
    assert await read_all(lines) == ["a", "b"]


async def test_bytes_that_are_no_text_are_replaced(pipe):
    lines = reader(pipe)
    pipe.write(b"\xff\xfe\n")
    pipe.close(pipe.write_fd)
    assert await read_all(lines) == ["\ufffd\ufffd"]


async def test_a_byte_order_mark_blank_lines_and_carriage_returns_do_not_matter(pipe):
    lines = reader(pipe)
    pipe.write(b"\xef\xbb\xbfb\r\n\r\n \n\xef\xbb\xbf\n\xef\xbb\xbfc\n")
    pipe.close(pipe.write_fd)
    assert [line.rstrip("\r") for line in await read_all(lines)] == ["b", "c"]


async def test_an_oversized_message_is_reported_and_the_next_is_read(pipe, caplog):
    lines = reader(pipe, max_line_bytes=10)
    pipe.write(b"x" * 30)
    pipe.write(b"y" * 30 + b"\nshort\n" + b"z" * 30)
    pipe.close(pipe.write_fd)
    assert await read_all(lines) == [LineTooLong(10), "short", LineTooLong(10)]
    assert "longer than 10 bytes" in caplog.text


async def test_an_oversized_line_is_answered_with_an_error(pipe):
    written = []

    class Writer:
        async def write(self, text):
            written.append(json.loads(text))

        async def wait_until_idle(self):
            return

    lines = reader(pipe, max_line_bytes=10)
    pipe.write(b"x" * 30 + b"\n")
    pipe.close(pipe.write_fd)
    async with (
        asyncio.timeout(PATIENCE_S),
        stdio.open_streams(lines, Writer(), idle=Writer().wait_until_idle) as pair,
    ):
        incoming, outgoing = pair
        async with incoming, outgoing:
            assert [message async for message in incoming] == []
    (answer,) = written
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert "longer than 10 bytes" in answer["error"]["message"]


@pytest.mark.parametrize("size", [1, stdio.LARGE_BYTES])
async def test_an_unreadable_line_does_not_stop_reading(monkeypatch, size):
    written = []

    class Writer:
        async def write(self, text):
            written.append(json.loads(text))

        async def wait_until_idle(self):
            return

    def fail(*_args, **_more):
        raise KeyError("x")

    async def lines():
        with monkeypatch.context() as patch:
            patch.setattr(stdio.json_pieces, "parse_in_pieces", fail)
            patch.setattr(stdio, "_find_wrong_id", fail)
            yield json.dumps(
                {"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"a": "x" * size}}
            )
        yield '{"jsonrpc":"2.0","id":8,"method":"ping"}'

    async with (
        asyncio.timeout(PATIENCE_S),
        stdio.open_streams(lines(), Writer(), idle=Writer().wait_until_idle) as pair,
    ):
        incoming, outgoing = pair
        async with incoming, outgoing:
            assert [message.message.id async for message in incoming] == [8]
    (answer,) = written
    assert (answer["id"], answer["error"]["code"]) == (7, -32603)


async def test_a_line_that_is_waited_for_wakes_the_reader(pipe):
    lines = reader(pipe)
    waiting = asyncio.create_task(anext(lines))
    await asyncio.sleep(0)
    pipe.write(b"now\n")
    async with asyncio.timeout(PATIENCE_S):
        assert await waiting == "now"
    waiting = asyncio.create_task(anext(lines))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_client_that_sends_faster_than_it_is_served_waits(pipe, monkeypatch):
    monkeypatch.setattr(stdio, "MAX_WAITING_LINES", 3)
    lines = reader(pipe)
    pipe.write(b"".join(b"%d\n" % number for number in range(50)))
    pipe.close(pipe.write_fd)
    assert await read_all(lines) == [str(number) for number in range(50)]


def test_a_reader_outlives_its_loop_in_silence(pipe):
    async def start():
        reader(pipe)

    others = set(threading.enumerate())
    asyncio.run(start())
    (thread,) = set(threading.enumerate()) - others
    pipe.write(b"too late\n")
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("size", [10, 1_000_000])
async def test_messages_of_any_size_are_written_whole(pipe, size):
    writer = LineWriter(pipe.write_fd)
    received = bytearray()

    def take():
        while len(received) < size:
            received.extend(os.read(pipe.read_fd, 65_536))

    taker = threading.Thread(target=take)
    taker.start()
    await writer.write(b"x" * size)
    await writer.wait_until_idle()
    await asyncio.to_thread(taker.join, PATIENCE_S)
    assert bytes(received) == b"x" * size


async def test_a_client_that_does_not_read_delays_nothing_else(pipe):
    writer = LineWriter(pipe.write_fd)
    writing = asyncio.create_task(writer.write(b"x" * 1_000_000))
    await asyncio.sleep(0)
    assert not writing.done()
    pipe.close(pipe.read_fd)
    with pytest.raises(BrokenPipeError):
        await writing
    await writer.wait_until_idle()


async def test_end_of_input_waits_for_pending_answers(pipe, monkeypatch):
    monkeypatch.setattr(stdio, "DRAIN_TIMEOUT_S", 10 * PATIENCE_S)
    out = Pipe()
    ended, busy = asyncio.Event(), asyncio.Event()
    wire = ProtocolWire(read_fd=pipe.read_fd, write_fd=out.write_fd)

    async def idle():
        ended.set()
        await busy.wait()

    async with stdio.open_wire_streams(wire, idle=idle) as (received, sent):
        pipe.close(pipe.write_fd)
        end = asyncio.create_task(anext(aiter(received), None))
        async with asyncio.timeout(PATIENCE_S):
            await ended.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        assert not end.done()
        busy.set()
        async with asyncio.timeout(PATIENCE_S):
            assert await end is None
        await sent.aclose()
        await received.aclose()
    out.close(out.read_fd)
    out.close(out.write_fd)


async def test_end_of_input_does_not_wait_forever(pipe, monkeypatch):
    monkeypatch.setattr(stdio, "DRAIN_TIMEOUT_S", 0.01)
    out = Pipe()
    wire = ProtocolWire(read_fd=pipe.read_fd, write_fd=out.write_fd)
    async with stdio.open_wire_streams(wire, idle=asyncio.Event().wait) as (received, sent):
        pipe.close(pipe.write_fd)
        async with asyncio.timeout(PATIENCE_S):
            assert [item async for item in received] == []
        await sent.aclose()
        await received.aclose()
    out.close(out.read_fd)
    out.close(out.write_fd)


async def test_a_client_continues_where_another_gateway_left_off(pipe):
    prelude = ConversationReplay(lines=(b'{"id":"foregate/resume/0"}\n',), unsent=b'{"half')
    lines = reader(pipe, prelude=prelude)
    pipe.write(b'":1}\n{"b":2}\n')
    pipe.close(pipe.write_fd)
    received = [line.strip() for line in await read_all(lines)]
    assert received == ['{"id":"foregate/resume/0"}', '{"half":1}', '{"b":2}']


async def test_answers_to_replayed_messages_do_not_reach_the_client(pipe):
    writer = LineWriter(pipe.write_fd, resuming=True)
    await writer.write(b'{"jsonrpc":"2.0","id":"foregate/resume/0","result":{}}\n')
    await writer.write(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert os.read(pipe.read_fd, 1_000) == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


async def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(pipe):
    out, idle = Pipe(), asyncio.Event()
    idle.set()
    wire = ProtocolWire(read_fd=pipe.read_fd, write_fd=out.write_fd)
    async with (
        asyncio.timeout(PATIENCE_S),
        stdio.open_wire_streams(wire, idle=idle.wait) as (received, sent),
    ):
        deep = b"[" * 10_000 + b"]" * 10_000
        pipe.write(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + deep + b"}\n")
        pipe.write(b'no JSON\n{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n')
        pipe.write(b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
        message = (await anext(aiter(received))).message
        pipe.close(pipe.write_fd)
        await sent.aclose()
        await received.aclose()
    answers = [json.loads(line) for line in os.read(out.read_fd, 100_000).splitlines()]
    out.close(out.read_fd)
    out.close(out.write_fd)
    assert (message.id, message.method) == (8, "ping")
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [
        (7, -32700),
        (None, -32700),
        (None, -32600),
    ]


class Written:
    """What a client is sent."""

    def __init__(self):
        self.messages = asyncio.Queue()

    async def write(self, text):
        self.messages.put_nowait(json.loads(text))

    async def wait_until_idle(self):
        return


@pytest.mark.parametrize("value", ["a\ud83d", functools.reduce(lambda v, _: [v], range(900), 1)])
async def test_an_unserializable_answer_fails_only_its_request(pipe, value):
    out = Written()
    async with (
        asyncio.timeout(PATIENCE_S),
        stdio.open_streams(reader(pipe), out, idle=out.wait_until_idle) as pair,
    ):
        received, sent = pair
        for number, held in ((1, value), (2, "good")):
            answer = JSONRPCResponse(jsonrpc="2.0", id=number, result={"value": held})
            await sent.send(SessionMessage(answer))
        bad, good = [await out.messages.get() for _ in range(2)]
        pipe.close(pipe.write_fd)
        await sent.aclose()
        await received.aclose()
    assert (bad["id"], bad["error"]["code"]) == (1, -32603)
    assert good == {"jsonrpc": "2.0", "id": 2, "result": {"value": "good"}}


async def test_an_unserializable_question_is_an_error_to_its_asker(pipe):
    out = Written()
    async with (
        asyncio.timeout(PATIENCE_S),
        stdio.open_streams(reader(pipe), out, idle=out.wait_until_idle) as pair,
    ):
        received, sent = pair
        note = JSONRPCNotification(jsonrpc="2.0", method="m", params={"a": "\ud83d"})
        question = JSONRPCRequest(jsonrpc="2.0", id=5, method="m", params={"a": "\ud83d"})
        await sent.send(SessionMessage(note))
        await sent.send(SessionMessage(question))
        answer = (await anext(aiter(received))).message
        pipe.close(pipe.write_fd)
        await sent.aclose()
        await received.aclose()
    assert (answer.id, answer.error.code) == (5, -32603)
    assert out.messages.empty()


async def test_no_error_is_sent_after_end_of_input(pipe):
    out = Written()
    pipe.close(pipe.write_fd)
    async with (
        asyncio.timeout(PATIENCE_S),
        stdio.open_streams(reader(pipe), out, idle=out.wait_until_idle) as pair,
    ):
        received, sent = pair
        assert [message async for message in received] == []
        question = JSONRPCRequest(jsonrpc="2.0", id=5, method="m", params={"a": "\ud83d"})
        await sent.send(SessionMessage(question))
        await sent.aclose()
        await received.aclose()
    assert out.messages.empty()
