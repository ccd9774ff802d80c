import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from gateway_project.mcp.http import exchange
from gateway_project.mcp.http.request import HttpRequest
from gateway_project.readiness import Gateway
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.mcp_http.conftest import LOCAL, called, caller, listening


async def events(response):
    text = await response.text()
    return [
        json.loads(line.removeprefix("data: "))
        for line in text.splitlines()
        if line.startswith("data: ")
    ]


async def counted(gateway, **more):
    """Call a tool that reports progress, asking for it."""
    params = called("count", text="x") | {"_meta": {"progressToken": "t"}}
    headers = gateway.headers() | {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "call_tool",
        **more,
    }
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "t",
    }
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params | {"_meta": meta}}
    return gateway.http.post(gateway.url, json=body, headers=headers)


async def test_a_message_before_the_result_opens_a_stream():
    async with listening() as gateway, await counted(gateway) as response:
        assert response.content_type == "text/event-stream"
        progress, result = await events(response)
        assert progress == {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "t", "progress": 1, "total": 2},
        }
        assert result["id"] == 7
        assert result["result"]["content"][0]["text"] == "ann:x"


@pytest.mark.parametrize(
    ("accept", "form", "count"),
    [
        ("application/json", "application/json", 0),
        ("text/event-stream", "text/event-stream", 2),
        ("*/*", "text/event-stream", 2),
    ],
)
async def test_an_answer_has_a_form_that_its_client_takes(accept, form, count):
    async with listening() as gateway, await counted(gateway, Accept=accept) as response:
        assert response.content_type == form
        assert len(await events(response)) == count
        assert '"ann:x"' in await response.text()


async def test_a_client_that_takes_events_alone_gets_a_lone_result_as_an_event():
    async with (
        listening() as gateway,
        await gateway.modern("tools/list", {}, Accept="text/event-stream") as response,
    ):
        assert response.status == 200
        assert len(await events(response)) == 1


async def test_a_lone_result_is_one_json_body():
    async with listening() as gateway, await gateway.call("count", text="x") as response:
        assert response.content_type == "application/json"
        assert (await response.json())["result"]["content"][0]["text"] == "ann:x"


async def test_a_long_silence_is_broken_by_signs_of_life(monkeypatch):
    monkeypatch.setattr(exchange, "PING_INTERVAL_S", 0.02)
    monkeypatch.setattr(exchange, "WATCH_AFTER_S", 0.0)
    async with listening() as gateway, await gateway.call("hang") as response:
        assert response.content_type == "text/event-stream"
        for _ in range(2):
            assert await response.content.readuntil(b"\r\n\r\n") == exchange.PING
        gateway.handled.release.set()
        assert [event["result"]["isError"] for event in await events(response)] == [False]


@pytest.mark.parametrize("watched_after_s", [0.0, 0.05])
async def test_a_client_that_leaves_ends_its_call_whenever_that_is(monkeypatch, watched_after_s):
    monkeypatch.setattr(exchange, "WATCH_AFTER_S", watched_after_s)
    async with listening() as gateway:
        calling = asyncio.ensure_future(gateway.text("hang"))
        await gateway.handled.began.wait()
        calling.cancel()
        await gateway.handled.cancelled.wait()


async def test_headers_are_validated_against_visible_tools():
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "Secret"}}}
    known = catalogue(
        tool("team:log", team=7, input_schema=schema), servers=(server("team", team=7),)
    )
    effects: Any = SimpleNamespace(catalogue=lambda: known, exposure="full")
    called_as = {"name": "team__log", "arguments": {"a": "x", "tool": "echo"}}
    async with listening() as gateway:
        gateway.service.runtime.readiness.serve(Gateway(effects=effects, caller=LOCAL))
        gateway.tokens.give("tok-member", caller("member", team=7))
        async with await gateway.modern("tools/call", called_as, bearer="tok-member") as response:
            assert (await response.json())["error"]["code"] == -32020
        async with await gateway.modern("tools/call", called_as, bearer="tok-bob") as response:
            assert (await response.json())["result"]["content"][0]["text"] == "bob:"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@pytest.mark.parametrize("name", [None, "t-2", "=?base64?dC0x?=", "t-1"])
async def test_a_request_about_a_task_names_it_in_its_header(method, name):
    named = {} if name is None else {"Mcp-Name": name}
    params = {"taskId": "t-1", "inputResponses": {}}
    async with listening() as gateway, await gateway.modern(method, params, **named) as response:
        answer = await response.json()
    is_same = name in ("t-1", "=?base64?dC0x?=")
    assert (answer.get("error", {}).get("code") == -32020) != is_same


async def test_an_internal_error_does_not_expose_its_message():
    async with listening() as gateway, await gateway.call("fail") as response:
        error = (await response.json())["error"]
        assert response.status == 200
        assert "a defect" not in str(error)


@pytest.mark.parametrize("kind", ["half", "deep"])
async def test_an_answer_that_cannot_be_written_is_an_error_under_its_id(kind):
    async with listening() as gateway, await gateway.call(kind) as response:
        answer = await response.json()
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        assert answer["error"]["data"] == {"foregate/error": {"code": "internal_error"}}


def make_exchange():
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"method": "POST", "path": "/mcp", "headers": []}
    request = HttpRequest(scope, None, send)
    return exchange.Exchange(request, 1, {}), sent


async def test_a_notification_that_cannot_be_written_is_left_out():
    reply, sent = make_exchange()
    await reply.notify("notifications/message", {"data": "\ud83d"})
    assert sent == []
    await reply.send_result({"result": {}}, 200)
    assert sent[-1]["body"] == b'{"jsonrpc":"2.0","id":1,"result":{}}'


@pytest.mark.parametrize(
    "value", ['"a\\ud83d"', '{"a\\udc00": 1}', "[" * 10_000 + "]" * 10_000, "9" * 6_000]
)
async def test_a_body_that_is_no_json_that_can_be_read_is_refused_under_its_id(value):
    headers = {"MCP-Protocol-Version": "2026-07-28", "Content-Type": "application/json"}
    body = f'{{"jsonrpc": "2.0", "method": "tools/call", "params": {{"a": {value}}}, "id": "x"}}'
    async with listening() as gateway:
        sent = gateway.headers() | headers
        async with gateway.http.post(gateway.url, data=body, headers=sent) as response:
            assert response.status == 400
            answer = await response.json()
    assert (answer["id"], answer["error"]["code"]) == ("x", -32700)
    assert "an unpaired surrogate" in answer["error"]["message"]


async def test_nothing_is_sent_after_the_result():
    reply, sent = make_exchange()
    await reply.send_result({"result": {}}, 200)
    await reply.notify("late", None)
    await reply.send_ping()
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


class Wire:
    def __init__(self):
        self.sent = []
        self.closed = False

    def write(self, data):
        self.sent.append(bytes(data))

    def writelines(self, pieces):
        self.sent.append(b"".join(pieces))

    def close(self):
        self.closed = True
