"""From raw bytes to messages, with everything unusable accounted for."""

import asyncio
import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import JSONRPCNotification, JSONRPCRequest

from tools.upstream.errors import MessageTooLarge, ProtocolViolation, UpstreamError
from tools.upstream.limits import UpstreamLimits
from tools.upstream.nesting import measure_value
from tools.upstream.output import ConnectionOrigin
from tools.upstream.reader import MessageReader
from tools.upstream.wire import Wire


class Reading:
    """What becomes of a server's output while calls wait for their answers.

    Attributes:
        unsolicited: Messages that answer no call.
        answered: Calls in the order of their ends.
    """

    def __init__(self, **limits: float) -> None:
        origin = ConnectionOrigin(
            server="s", limits=UpstreamLimits(**limits), monotonic=lambda: 0.0
        )
        self.wire = Wire(origin, self._send)
        self.wire.attach(self)
        self.fatal_errors: list[UpstreamError] = []
        self.reader = MessageReader(self.wire, on_fatal=self.fatal_errors.append)
        self.unsolicited: list[Any] = []
        self.calls: dict[int, asyncio.Future] = {}
        self.answered: list[int] = []

    async def _send(self, message: Any, **_: Any) -> None:
        """Take everything."""

    def handle_request(self, request: Any, *, related: Any) -> None:
        self.unsolicited.append(request)

    handle_notification = handle_request

    async def call(self, *ids: int, method: str = "tools/call") -> None:
        for each in ids:
            self.calls[each] = asyncio.ensure_future(
                self.wire.request(method, {}, request_id=each)
            )
            self.calls[each].add_done_callback(lambda _, each=each: self.answered.append(each))
        await asyncio.sleep(0)

    async def failures(self) -> dict[int, type]:
        """Return how calls have failed by now."""
        for _ in range(3):
            await asyncio.sleep(0)
        ended = {each: call.exception() for each, call in self.calls.items() if call.done()}
        return {each: type(error) for each, error in ended.items() if error is not None}


async def reading(*calls: int, **limits: float) -> Reading:
    made = Reading(**limits)
    await made.call(*calls)
    return made


def response(request_id: int, text: str = "") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {"t": text}}).encode() + b"\n"


async def test_messages_pass():
    read = await reading(1)
    read.reader.feed(b'\n \r\n{"jsonrpc":"2.0","id":9,"method":"ping"}\n' + response(1))
    read.reader.feed(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    read.reader.close()
    assert [type(each) for each in read.unsolicited] == [JSONRPCRequest, JSONRPCNotification]
    assert await read.calls[1] == {"t": ""}
    assert read.wire.dropped == 0


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        (b'{"jsonrpc":"2.0","id":2,"result":{"x":\xff}}', 2),
        (b'{"jsonrpc":"2.0","id":2,"result":7}', 2),
        (b'{"jsonrpc":"2.0","id":3,"result":7}', None),
        (b'{"jsonrpc":"2.0","result":{', None),
        (b"plain text", None),
        (b'{"json": "log"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', None),
    ],
)
async def test_with_several_calls_in_flight_a_bad_line_fails_only_the_one_it_names(line, failed):
    read = await reading(1, 2)
    read.reader.feed(line + b"\n")
    assert await read.failures() == ({failed: ProtocolViolation} if failed else {})
    assert read.wire.dropped == 1


@pytest.mark.parametrize(
    ("line", "fails"),
    [
        (b'{"jsonrpc":"2.0","result":{', True),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', True),
        (b'{"jsonrpc":"2.0","id":8,"result":[]}', False),
        (b"plain text \xff", False),
        (b'{"level": "info"}', False),
        (b'{"jsonrpc":"2.0","method":"x","params":"\xff"}', False),
    ],
)
async def test_the_only_call_in_flight_fails_with_an_answer_that_names_none(line, fails):
    read = await reading(1)
    read.reader.feed(line + b"\n")
    assert await read.failures() == ({1: ProtocolViolation} if fails else {})
    if not fails:
        read.reader.feed(response(1))
        assert await read.calls[1] == {"t": ""}


async def test_an_error_without_an_id_goes_to_the_only_call_in_flight():
    read = await reading(5)
    read.reader.feed(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}\n')
    with pytest.raises(MCPError) as caught:
        await read.calls[5]
    assert caught.value.code == -32700


async def test_a_line_beyond_the_cap_fails_its_call_before_it_has_ended():
    read = await reading(1, 2, max_line_bytes=100)
    read.reader.feed(b'{"jsonrpc":"2.0","id":2,"result":{"x":"' + b"x" * 100)
    assert await read.failures() == {2: MessageTooLarge}
    read.reader.feed(b'"}}\n' + response(1))
    assert await read.calls[1] == {"t": ""}
    assert read.wire.dropped == 1


async def test_a_line_beyond_the_cap_with_its_id_last_fails_its_call_at_its_end():
    read = await reading(1, 2, max_line_bytes=100)
    read.reader.feed(b'{"result":{"x":"' + b"x" * 200)
    assert await read.failures() == {}
    read.reader.feed(b'"},"jsonrpc":"2.0","id":2}\n')
    assert await read.failures() == {2: MessageTooLarge}


async def test_a_line_beyond_the_cap_that_names_no_call_fails_the_one_waiting_when_it_came():
    read = await reading(1, max_line_bytes=100)
    read.reader.feed(b"x" * 200)
    assert await read.failures() == {1: MessageTooLarge}
    await read.call(2)
    read.reader.feed(b"xx\n")
    assert await read.failures() == {1: MessageTooLarge}


async def test_a_notification_beyond_the_cap_fails_no_call():
    read = await reading(1, max_line_bytes=100)
    read.reader.feed(
        b'{"jsonrpc":"2.0","method":"notifications/message","x":"' + b"x" * 200 + b"\n"
    )
    assert await read.failures() == {}


async def test_a_result_beyond_its_cap_fails_the_call_but_a_listing_of_that_size_passes():
    read = await reading(1, max_result_bytes=100)
    await read.call(2, method="tools/list")
    read.reader.feed(response(1, "x" * 100) + response(2, "x" * 100))
    assert await read.failures() == {1: MessageTooLarge}
    assert await read.calls[2] == {"t": "x" * 100}


async def test_a_flood_is_dropped_and_counted_but_responses_pass():
    read = await reading(1, messages_burst=10)
    read.reader.feed(
        b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' * 10_000 + response(1)
    )
    assert len(read.unsolicited) == 10
    assert await read.calls[1] == {"t": ""}
    assert read.wire.dropped == 9_990


async def test_useless_bytes_are_counted():
    read = await reading(1, messages_burst=1)
    news = b'{"jsonrpc":"2.0","method":"notifications/message"}\n'
    read.reader.feed(news + response(1))
    assert read.reader.wasted_bytes == 0
    read.reader.feed(news + b"a stray print\n")
    assert read.reader.wasted_bytes == len(news + b"a stray print") - 1


async def test_a_server_that_sends_only_rubbish_is_stopped():
    read = await reading(max_rubbish_bytes=1_000)
    read.reader.feed(b"x" * 600 + b"\n")
    read.reader.feed(response(1))
    read.reader.feed(b"x" * 600 + b"\n")
    assert read.fatal_errors == []
    read.reader.feed(b"x" * 600 + b"\n")
    assert "stdout must carry nothing but MCP" in str(read.fatal_errors[0])


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


async def test_an_answer_nested_too_deeply_fails_its_call_with_that_reason():
    read = await reading(1)
    read.reader.feed(b'{"jsonrpc":"2.0","id":1,"result":{"x":%s}}\n' % deep(10_000).encode())
    assert await read.failures() == {1: ProtocolViolation}
    assert "nested deeper than 190 levels" in str(read.calls[1].exception())


async def test_of_a_page_of_a_list_only_what_is_nested_too_deeply_is_lost():
    read = await reading(1)
    tools = '[{"name":"a"},{"name":"b","inputSchema":' + deep(10_000) + "}]"
    read.reader.feed(b'{"jsonrpc":"2.0","id":1,"result":{"tools":%s}}\n' % tools.encode())
    first, second = (await read.calls[1])["tools"]
    assert first == {"name": "a"}
    assert measure_value(second, max_depth=128, max_bytes=10_000) == "deep"
