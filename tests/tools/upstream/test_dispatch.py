"""Requests and answers are matched, whatever happens to either."""

import asyncio
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, ServerMessageMetadata, SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from tools.upstream.dispatch import RequestDispatcher
from tools.upstream.streams import MessageInbox, MessageOutbox


class Server:
    """The other end: notes what it is sent, and sends what it is told to."""

    def __init__(self) -> None:
        self.got: list[SessionMessage] = []
        self.taken: list[tuple[str, Any]] = []
        self.inbox = MessageInbox(pause=lambda: None, resume=lambda: None)
        self.is_broken = False
        self.wire = RequestDispatcher((self.inbox, MessageOutbox(self._receive)))

    async def _receive(self, item: SessionMessage) -> None:
        if self.is_broken:
            raise anyio.BrokenResourceError
        self.got.append(item)

    def handle_request(self, request: JSONRPCRequest, *, related: Any) -> None:
        self.taken.append((request.method, related))

    def handle_notification(self, notification: JSONRPCNotification, *, related: Any) -> None:
        self.taken.append((notification.method, related))

    def answers(self, request_id: Any, **result: Any) -> None:
        self.inbox.put(
            SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=request_id, result=result))
        )

    async def __aenter__(self) -> "Server":
        self._run = asyncio.ensure_future(self.wire.run(self))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._run.cancel()
        await asyncio.wait({self._run})


async def sent(server: Server, *requests: Any) -> list[asyncio.Future]:
    before = len(server.got)
    tasks = [asyncio.ensure_future(request) for request in requests]
    while len(server.got) < before + len(tasks):  # noqa: ASYNC110 - sending takes one turn of the loop
        await asyncio.sleep(0)
    return tasks


async def test_answers_are_matched_by_id_in_whatever_order_they_come():
    async with Server() as server:
        wire = server.wire
        one, two, three = await sent(
            server, wire.request("a", {}), wire.request("b", {"x": None}), wire.request("c", {})
        )
        server.answers(2, n=2)
        server.answers("1", n=1)
        server.answers(99, n=99)
        server.inbox.put(
            SessionMessage(
                JSONRPCError(jsonrpc="2.0", id=3, error=ErrorData(code=-5, message="no", data=[1]))
            )
        )
        assert await one == {"n": 1}
        assert await two == {"n": 2}
        with pytest.raises(MCPError, match="no") as caught:
            await three
    assert (caught.value.code, caught.value.data) == (-5, [1])
    sent_as = [item.message.model_dump(exclude_unset=True) for item in server.got]
    assert sent_as[0] == {"jsonrpc": "2.0", "id": 1, "method": "a"}
    assert sent_as[1]["params"] == {"x": None}


async def test_unsolicited_messages_reach_the_receiver_with_their_related_request():
    async with Server() as server:
        request = JSONRPCRequest(jsonrpc="2.0", id=1, method="ask")
        notification = JSONRPCNotification(jsonrpc="2.0", method="tell")
        server.inbox.put(SessionMessage(request, ServerMessageMetadata(related_request_id=7)))
        server.inbox.put(SessionMessage(notification))
        server.inbox.put(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=ERROR)))
        (waiting,) = await sent(server, server.wire.request("a", {}))
        server.answers(1)
        await waiting
    assert server.taken == [("ask", 7), ("tell", None)]


ERROR = ErrorData(code=-1, message="whose?")


async def test_headers_travel_with_a_request_and_with_its_cancellation():
    async with Server() as server:
        (waiting,) = await sent(server, server.wire.request("a", {}, headers={"x": "1"}))
        waiting.cancel()
        await asyncio.wait({waiting})
    assert [item.metadata for item in server.got] == [
        ClientMessageMetadata(headers={"x": "1"})
    ] * 2
    cancelled = server.got[1].message
    assert (cancelled.method, cancelled.params["requestId"]) == ("notifications/cancelled", 1)


async def test_a_handshake_is_never_cancelled():
    async with Server() as server:
        (waiting,) = await sent(server, server.wire.request("initialize", {}))
        waiting.cancel()
        await asyncio.wait({waiting})
    assert len(server.got) == 1


async def test_the_end_of_the_stream_ends_all_requests_and_those_to_come():
    async with Server() as server:
        waiting = await sent(server, server.wire.request("a", {}), server.wire.request("b", {}))
        server.inbox.end()
        for request in (*waiting, server.wire.request("c", {})):
            with pytest.raises(MCPError) as caught:
                await request
            assert caught.value.code == CONNECTION_CLOSED
        assert server.wire.ended.is_set()


async def test_an_unsendable_message_fails_only_a_request():
    async with Server() as server:
        server.is_broken = True
        await server.wire.notify("tell")
        await server.wire.send_answer(1, {}, related=None)
        with pytest.raises(MCPError) as caught:
            await server.wire.request("a", {})
        assert caught.value.code == CONNECTION_CLOSED


async def test_an_answer_names_the_stream_it_belongs_to():
    async with Server() as server:
        await server.wire.send_answer("q", {"x": 1}, related=7)
        await server.wire.send_answer("r", ERROR, related=None)
    first, second = server.got
    assert (first.message.result, first.metadata.related_request_id) == ({"x": 1}, 7)
    assert second.message.error == ERROR


async def test_a_fault_on_the_stream_is_no_message():
    async with Server() as server:
        server.inbox._messages.append(ValueError("fault"))
        (waiting,) = await sent(server, server.wire.request("a", {}))
        server.answers(1)
        assert await waiting == {}


async def test_a_late_answer_to_a_request_given_up_is_dropped():
    async with Server() as server:
        (waiting,) = await sent(server, server.wire.request("a", {}))
        waiting.cancel()
        await asyncio.wait({waiting})
        server.answers(1)
        (again,) = await sent(server, server.wire.request("b", {}))
        server.answers(2, n=2)
        assert await again == {"n": 2}
