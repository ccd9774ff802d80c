"""Requests and answers are matched, whatever happens to either."""

import asyncio
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from tools.upstream.errors import ProtocolViolation
from tools.upstream.output import ConnectionOrigin
from tools.upstream.wire import TransportClosed, Wire

ERROR = ErrorData(code=-1, message="whose?")
NEWS = "notifications/message"


class Server:
    """The other end: notes what it is sent, and what is handed over of what it says."""

    def __init__(self) -> None:
        self.got: list[tuple[Any, Any, Any]] = []
        self.taken: list[tuple[str, Any]] = []
        self.is_broken = False
        self.wire = Wire(ConnectionOrigin(server="s"), self._receive)

    async def _receive(self, message: Any, *, headers: Any, related: Any = None) -> None:
        if self.is_broken:
            raise TransportClosed
        self.got.append((message, headers, related))

    def handle_request(self, request: JSONRPCRequest, *, related: Any) -> None:
        self.taken.append((request.method, related))

    def handle_notification(self, notification: JSONRPCNotification, *, related: Any) -> None:
        self.taken.append((notification.method, related))

    def answers(self, request_id: Any, **result: Any) -> bool:
        return self.wire.receive(JSONRPCResponse(jsonrpc="2.0", id=request_id, result=result))

    async def asked(self, *methods: str, **options: Any) -> list[asyncio.Future]:
        """Send requests, and wait until they are at the server."""
        tasks = [
            asyncio.ensure_future(self.wire.request(method, {}, **options)) for method in methods
        ]
        await asyncio.sleep(0)
        return tasks


@pytest.fixture
def server() -> Server:
    return Server()


async def test_answers_are_matched_by_id_in_whatever_order_they_come(server):
    one, two, three = await server.asked("a", "b", "c")
    server.answers(2, n=2)
    server.answers("1", n=1)
    assert not server.answers(99, n=99)
    error = ErrorData(code=-5, message="no", data=[1])
    server.wire.receive(JSONRPCError(jsonrpc="2.0", id=3, error=error))
    assert (await one, await two) == ({"n": 1}, {"n": 2})
    with pytest.raises(MCPError, match="no") as caught:
        await three
    assert (caught.value.code, caught.value.data) == (-5, [1])
    sent_as = [message.model_dump(exclude_unset=True) for message, *_ in server.got]
    assert sent_as[0] == {"jsonrpc": "2.0", "id": 1, "method": "a"}


async def test_unsolicited_messages_are_handed_over_with_their_request_even_early_ones(server):
    request = JSONRPCRequest(jsonrpc="2.0", id=1, method="ask")
    assert server.wire.receive(request, related=7)
    server.wire.attach(server)
    assert server.wire.receive(JSONRPCNotification(jsonrpc="2.0", method=NEWS))
    assert not server.wire.receive(JSONRPCError(jsonrpc="2.0", id=None, error=ERROR))
    server.wire.receive(JSONRPCNotification(jsonrpc="2.0", method="notifications/vendor/thing"))
    assert server.taken == [("ask", 7), (NEWS, None)]


async def test_nobody_is_bothered_with_what_a_server_says_after_the_end(server):
    server.wire.attach(server)
    server.wire.end()
    assert server.wire.receive(JSONRPCRequest(jsonrpc="2.0", id=1, method="ask"))
    assert server.taken == []


async def test_headers_travel_with_a_request_and_with_its_cancellation(server):
    (waiting,) = await server.asked("a", headers={"x": "1"})
    waiting.cancel()
    await asyncio.wait({waiting})
    assert [headers for _, headers, _ in server.got] == [{"x": "1"}] * 2
    cancelled = server.got[1][0]
    assert (cancelled.method, cancelled.params["requestId"]) == ("notifications/cancelled", 1)
    assert not server.answers(1)


async def test_a_handshake_is_never_cancelled(server):
    (waiting,) = await server.asked("initialize")
    waiting.cancel()
    await asyncio.wait({waiting})
    assert len(server.got) == 1


async def test_the_end_ends_all_requests_and_those_to_come(server):
    waiting = await server.asked("a", "b")
    server.wire.end()
    for request in (*waiting, server.wire.request("c", {})):
        with pytest.raises(MCPError) as caught:
            await request
        assert caught.value.code == CONNECTION_CLOSED
    assert server.wire.ended.is_set()


async def test_an_unsendable_message_fails_only_a_request(server):
    server.is_broken = True
    await server.wire.notify("tell")
    await server.wire.send_answer(1, {}, related=None)
    with pytest.raises(MCPError) as caught:
        await server.wire.request("a", {})
    assert caught.value.code == CONNECTION_CLOSED


async def test_an_answer_names_the_stream_it_belongs_to(server):
    await server.wire.send_answer("q", {"x": 1}, related=7)
    await server.wire.send_answer("r", ERROR, related=None)
    (first, _, related), (second, *_) = server.got
    assert (first.result, related, second.error) == ({"x": 1}, 7, ERROR)


async def test_an_unusable_answer_fails_the_request_it_names_or_the_only_one_waiting(server):
    wire = server.wire
    assert wire.find_owner(None) is None
    await server.asked("subscriptions/listen", "server/discover")
    assert wire.find_owner(None) is None  # they are open-ended
    (call,) = await server.asked("tools/call")
    assert (wire.find_owner(None), wire.find_method("3")) == (3, "tools/call")
    await server.asked("tools/list")
    assert (wire.find_owner(None), wire.find_owner("4"), wire.find_owner(9)) == (None, 4, None)
    wire.fail(3, ProtocolViolation("odd", server="s"))
    with pytest.raises(ProtocolViolation):
        await call
    assert wire.find_method(3) is None


async def test_an_answer_without_a_name_may_be_one_to_a_notification(server):
    assert not server.wire.claim_notification()
    await server.asked("tools/call")
    await server.wire.notify("tell")
    assert server.wire.claim_notification()
    assert not server.wire.claim_notification()
    await server.wire.notify("tell")
    await server.asked("tools/list")
    server.answers(1)
    server.answers(2)  # sent after the notification, so that is answered or never will be
    assert not server.wire.claim_notification()
