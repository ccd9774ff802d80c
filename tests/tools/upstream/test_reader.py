"""From raw bytes to messages, with everything unusable accounted for."""

import json
from typing import Any

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tools.upstream.errors import MessageTooLarge, ProtocolViolation, UpstreamError
from tools.upstream.limits import UpstreamLimits
from tools.upstream.nesting import measure_value
from tools.upstream.origin import ConnectionOrigin
from tools.upstream.outstanding import OutstandingRequests
from tools.upstream.reader import MessageReader


class Collected:
    """An inbox that only collects."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def put(self, item: SessionMessage) -> None:
        self.messages.append(item.message)


class Wire:
    def __init__(self, *calls: int, **limits: float) -> None:
        self.inbox = Collected()
        self.waiting = OutstandingRequests()
        for call in calls:
            self.waiting.mark_sent(call, "tools/call")
        self.fatal_errors: list[UpstreamError] = []
        self.reader = MessageReader(
            ConnectionOrigin(server="s", limits=UpstreamLimits(**limits), monotonic=lambda: 0.0),
            inbox=self.inbox,
            outstanding=self.waiting,
            on_fatal=self.fatal_errors.append,
        )

    def failures(self) -> dict[Any, type]:
        return {
            message.id: type(message.error.data)
            for message in self.inbox.messages
            if isinstance(message, JSONRPCError)
        }


def response(request_id: int, text: str = "") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {"t": text}}).encode() + b"\n"


def test_messages_pass():
    wire = Wire(1)
    wire.reader.feed(b'\n \r\n{"jsonrpc":"2.0","id":9,"method":"ping"}\n' + response(1))
    wire.reader.feed(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    wire.reader.close()
    kinds = [JSONRPCRequest, JSONRPCResponse, JSONRPCNotification]
    assert [type(message) for message in wire.inbox.messages] == kinds
    assert wire.reader.dropped == 0


def test_notifications_nobody_listens_to_do_not_pass():
    wire = Wire()
    wire.reader.feed(b'{"jsonrpc":"2.0","method":"notifications/vendor/thing","params":{}}\n')
    assert wire.inbox.messages == []


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
def test_with_several_calls_in_flight_a_bad_line_fails_only_the_one_it_names(line, failed):
    wire = Wire(1, 2)
    wire.reader.feed(line + b"\n")
    assert wire.failures() == ({failed: ProtocolViolation} if failed else {})
    assert wire.reader.dropped == 1


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
def test_the_only_call_in_flight_fails_with_an_answer_that_names_none(line, fails):
    wire = Wire(1)
    wire.reader.feed(line + b"\n")
    assert wire.failures() == ({1: ProtocolViolation} if fails else {})
    wire.reader.feed(response(1))
    assert wire.inbox.messages[-1].id == 1


def test_an_error_without_an_id_goes_to_the_only_call_in_flight():
    wire = Wire(5)
    wire.reader.feed(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}\n')
    (message,) = wire.inbox.messages
    assert (message.id, message.error.code) == (5, -32700)


def test_a_line_beyond_the_cap_fails_its_call_before_it_has_ended():
    wire = Wire(1, 2, max_line_bytes=100)
    wire.reader.feed(b'{"jsonrpc":"2.0","id":2,"result":{"x":"' + b"x" * 100)
    assert wire.failures() == {2: MessageTooLarge}
    wire.reader.feed(b'"}}\n' + response(1))
    assert [message.id for message in wire.inbox.messages] == [2, 1]
    assert wire.reader.dropped == 1


def test_a_line_beyond_the_cap_with_its_id_last_fails_its_call_at_its_end():
    wire = Wire(1, 2, max_line_bytes=100)
    wire.reader.feed(b'{"result":{"x":"' + b"x" * 200)
    assert wire.failures() == {}
    wire.reader.feed(b'"},"jsonrpc":"2.0","id":2}\n')
    assert wire.failures() == {2: MessageTooLarge}


def test_a_line_beyond_the_cap_that_names_no_call_fails_the_one_waiting_when_it_came():
    wire = Wire(1, max_line_bytes=100)
    wire.reader.feed(b"x" * 200)
    assert wire.failures() == {1: MessageTooLarge}
    wire.waiting.mark_sent(2, "tools/call")
    wire.reader.feed(b"xx\n")
    assert wire.failures() == {1: MessageTooLarge}


def test_a_notification_beyond_the_cap_fails_no_call():
    wire = Wire(1, max_line_bytes=100)
    wire.reader.feed(
        b'{"jsonrpc":"2.0","method":"notifications/message","x":"' + b"x" * 200 + b"\n"
    )
    assert wire.failures() == {}


def test_a_result_beyond_its_cap_fails_the_call_but_a_listing_of_that_size_passes():
    wire = Wire(1, max_result_bytes=100)
    wire.waiting.mark_sent(2, "tools/list")
    wire.reader.feed(response(1, "x" * 100) + response(2, "x" * 100))
    assert wire.failures() == {1: MessageTooLarge}
    assert isinstance(wire.inbox.messages[1], JSONRPCResponse)


def test_a_flood_is_dropped_and_counted_but_responses_pass():
    wire = Wire(1, messages_burst=10)
    wire.reader.feed(
        b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' * 10_000 + response(1)
    )
    assert len(wire.inbox.messages) == 11
    assert wire.reader.dropped == 9_990


def test_useless_bytes_are_counted():
    wire = Wire(1, messages_burst=1)
    news = b'{"jsonrpc":"2.0","method":"notifications/message"}\n'
    wire.reader.feed(news + response(1))
    assert wire.reader.wasted_bytes == 0
    wire.reader.feed(news + b"a stray print\n")
    assert wire.reader.wasted_bytes == len(news + b"a stray print") - 1


def test_a_server_that_sends_only_rubbish_is_stopped():
    wire = Wire(max_rubbish_bytes=1_000)
    wire.reader.feed(b"x" * 600 + b"\n")
    wire.reader.feed(response(1))
    wire.reader.feed(b"x" * 600 + b"\n")
    assert wire.fatal_errors == []
    wire.reader.feed(b"x" * 600 + b"\n")
    assert "stdout must carry nothing but MCP" in str(wire.fatal_errors[0])


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_an_answer_nested_too_deeply_fails_its_call_with_that_reason():
    wire = Wire(1)
    wire.reader.feed(b'{"jsonrpc":"2.0","id":1,"result":{"x":%s}}\n' % deep(10_000).encode())
    assert wire.failures() == {1: ProtocolViolation}
    assert "nested deeper than 190 levels" in wire.inbox.messages[0].error.message


def test_of_a_page_of_a_list_only_what_is_nested_too_deeply_is_lost():
    wire = Wire(1)
    tools = '[{"name":"a"},{"name":"b","inputSchema":' + deep(10_000) + "}]"
    wire.reader.feed(b'{"jsonrpc":"2.0","id":1,"result":{"tools":%s}}\n' % tools.encode())
    (message,) = wire.inbox.messages
    first, second = message.result["tools"]
    assert first == {"name": "a"}
    assert measure_value(second, max_depth=128, max_bytes=10_000) == "deep"
