"""Large messages are read elsewhere, in order with the others."""

import asyncio
import json

import pytest

from gateway_project.foundation import json_pieces
from tests.tools.upstream.test_reader import reading, response
from tools.upstream import reader
from tools.upstream.errors import ProtocolViolation, TooManyValuesSent

LARGE = json_pieces.LARGE_BYTES


async def answered(read):
    await read.failures()
    return read.answered


async def test_messages_stay_in_order_whatever_takes_longer():
    read = await reading(1, 2, 3)
    read.reader.feed(response(1) + response(2, "x" * LARGE) + response(3))
    assert await answered(read) == [1]
    await read.reader.wait_until_drained()
    assert await answered(read) == [1, 2, 3]
    await read.call(4)
    read.reader.feed(response(4))
    assert await answered(read) == [1, 2, 3, 4]


async def test_the_end_is_reported_once_all_input_is_read():
    read, ended = await reading(1), asyncio.Event()
    read.reader.feed(response(1, "x" * LARGE).rstrip(b"\n"))
    read.reader.close()
    read.reader.call_when_drained(ended.set)
    assert not ended.is_set()
    await read.reader.wait_until_drained()
    assert await answered(read) == [1]
    assert ended.is_set()


async def test_the_feeder_is_paused_and_resumed():
    read, told = await reading(1, 2), []
    read.reader._on_busy = lambda: told.append("busy")
    read.reader._on_read = lambda: told.append("read")
    read.reader.feed(response(1, "x" * LARGE) + response(2, "y" * LARGE))
    assert told == ["busy"]
    await read.reader.wait_until_drained()
    assert told == ["busy", "read"]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ("[" + "[]," * LARGE + "[]]", TooManyValuesSent),
        ("[" * 191 + "]" * 191 + ',"x":"' + "x" * LARGE + '"', ProtocolViolation),
        ('"' + "x" * LARGE + '", no', ProtocolViolation),
    ],
)
async def test_an_unusable_large_answer_fails_its_call(monkeypatch, result, error):
    monkeypatch.setattr(json_pieces, "MAX_VALUES", 10_000)
    read = await reading(1, 2)
    read.reader.feed(b'{"jsonrpc":"2.0","id":1,"result":{"a":%b}}\n' % result.encode())
    read.reader.feed(response(2))
    await read.reader.wait_until_drained()
    assert await read.failures() == {1: error}
    assert await answered(read) == [1, 2]


async def test_an_answer_that_fails_to_be_read_fails_its_call_and_holds_up_no_other(monkeypatch):
    tries = []

    def fail(text, **_):
        tries.append(len(text))
        raise KeyError("x")

    read = await reading(1, 2, 3)
    with monkeypatch.context() as patch:
        patch.setattr(json_pieces, "parse_in_pieces", fail)
        read.reader.feed(response(1, "x" * LARGE) + response(2))
        await read.reader.wait_until_drained()
        read.reader.feed(response(3))
        await read.reader.wait_until_drained()
    assert len(tries) == 1
    assert await read.failures() == {1: ProtocolViolation}
    assert await answered(read) == [1, 2, 3]


async def test_a_fault_of_the_gateway_itself_is_not_counted_as_the_server_s(monkeypatch):
    read = await reading(1, 2)

    def fail(*_):
        raise ValueError("x")

    monkeypatch.setattr(read.reader, "_deliver", fail)
    with pytest.raises(ValueError, match="x"):
        read.reader.feed(response(1))
    read.reader.feed(response(2, "x" * LARGE))
    await read.reader.wait_until_drained()
    assert read.wire.dropped == 0
    assert [type(one) for one in read.fatal_errors] == [ProtocolViolation]


async def test_large_rubbish_is_rejected_quickly():
    read = await reading()
    read.reader.feed(b"x" * LARGE * 2 + b"\n")
    assert read.reader._reading is None
    assert read.wire.dropped == 1


async def test_a_large_page_of_a_list_loses_only_what_is_too_deep(monkeypatch):
    deep = "[" * 200 + "]" * 200
    tools = [{"name": "a", "description": "x" * LARGE}]
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).encode()
    text = text.replace(b'"name": "a"', b'"name": "a", "deep": %b' % deep.encode())
    message = await reader.receive_message(text)
    assert message.result["tools"][0]["name"] == "a"
