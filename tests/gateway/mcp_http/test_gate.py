import asyncio
import functools
import json

import pytest

from gateway_project.access import bearers
from gateway_project.foundation.shares import Bound, Shares
from gateway_project.mcp.http import body, gate
from tests.gateway.mcp_http.conftest import (
    ACCEPT,
    LEGACY,
    MODERN,
    called,
    caller,
    code_of,
    enveloped,
    listening,
)


async def test_a_call_of_the_stateless_era_is_served_for_the_holder_of_the_token():
    async with listening() as gateway:
        assert await gateway.text("echo", text="hi") == "ann:hi"
        assert await gateway.text("echo", bearer="tok-bob", text="hi") == "bob:hi"


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [
        (None, 'Bearer realm="foregate"'),
        ("Basic dG9rLWFubg==", 'Bearer realm="foregate"'),
        ("Bearer ", 'Bearer realm="foregate"'),
        ("Bearer fgt_wrong", 'Bearer realm="foregate", error="invalid_token"'),
        ("Bearer tok-ann tok-ann", 'Bearer realm="foregate", error="invalid_token"'),
    ],
)
async def test_a_request_without_a_valid_token_is_challenged(authorization, challenge):
    headers = ACCEPT | ({"Authorization": authorization} if authorization else {})
    async with (
        listening() as gateway,
        gateway.http.post(gateway.url, json={}, headers=headers) as response,
    ):
        assert await code_of(response) == (401, "unauthorized")
        assert response.headers["WWW-Authenticate"] == challenge


async def test_a_token_in_the_address_is_ignored():
    async with (
        listening() as gateway,
        gateway.http.post(
            f"{gateway.url}?access_token=tok-ann", json={}, headers=ACCEPT
        ) as response,
    ):
        assert response.status == 401


async def test_a_token_for_something_else_is_not_enough():
    async with listening() as gateway:
        gateway.tokens.give("tok-monitor", caller("ann", scopes=("metrics",)))
        async with await gateway.call("echo", bearer="tok-monitor") as response:
            assert await code_of(response) == (403, "not_permitted")
            assert 'error="insufficient_scope"' in response.headers["WWW-Authenticate"]


async def test_guessing_is_throttled_but_valid_tokens_work(monkeypatch):
    async with listening() as gateway:
        assert await gateway.text("echo") == "ann:"
        for number in range(bearers.Throttle()._limit):
            async with await gateway.call("echo", bearer=f"guess-{number}") as response:
                assert response.status == 401
        async with await gateway.call("echo", bearer="another guess") as response:
            assert await code_of(response) == (429, "throttled")
            assert int(response.headers["Retry-After"]) > 0
        assert await gateway.text("echo") == "ann:"
        assert await gateway.text("echo", bearer="tok-bob") == "bob:"


@pytest.mark.parametrize(
    ("host", "status"),
    [("evil.example", 421), ("127.0.0.1.evil.example", 421), ("", 421), ("localhost:1", 200)],
)
async def test_only_configured_host_names_are_answered(host, status):
    async with listening() as gateway:
        params = called("echo")
        async with await gateway.modern("tools/call", params, Host=host) as response:
            assert response.status == status
            if status != 200:
                assert (await code_of(response))[1] == "host_not_allowed"


async def test_pages_of_other_origins_may_not_call():
    async with listening() as gateway:
        own = gateway.url.removesuffix("/mcp")
        for origin, status in [
            ("https://evil.example", 403),
            ("null", 403),
            ("http://127.0.0.1:1", 403),
            (own, 200),
            (own.replace("127.0.0.1", "localhost"), 200),
            ("https://app.example", 200),
        ]:
            async with await gateway.modern(
                "tools/call", called("echo"), Origin=origin
            ) as response:
                assert response.status == status, origin


async def test_an_allowed_origin_gets_cors_headers():
    async with listening() as gateway:
        asked = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, mcp-param-region",
        }
        async with gateway.http.options(gateway.url, headers=asked) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Origin"] == "https://app.example"
            assert "authorization" in response.headers["Access-Control-Allow-Headers"]
            assert "mcp-param-region" in response.headers["Access-Control-Allow-Headers"]
        asked["Origin"] = "https://evil.example"
        async with gateway.http.options(gateway.url, headers=asked) as response:
            assert response.status == 403
            assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize("verb", ["PUT", "PATCH", "HEAD"])
async def test_other_methods_are_refused(verb):
    async with (
        listening() as gateway,
        gateway.http.request(verb, gateway.url, headers=gateway.headers()) as response,
    ):
        assert response.status == 405
        assert "POST" in response.headers["Allow"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "application/json", "Accept": "text/html"}, 406),
    ],
)
async def test_other_content_types_are_refused(headers, status):
    async with listening() as gateway:
        given = gateway.headers() | {"MCP-Protocol-Version": MODERN} | headers
        async with gateway.http.post(gateway.url, data=b"{}", headers=given) as response:
            assert response.status == status


MISMATCH, VERSION, UNKNOWN_METHOD, INVALID, PARSE = -32020, -32022, -32601, -32600, -32700


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"Mcp-Method": "tools/list"}, 400, MISMATCH),
        ({"Mcp-Method": None}, 400, MISMATCH),
        ({"Mcp-Name": "search_tools"}, 400, MISMATCH),
        ({"Mcp-Name": None}, 400, MISMATCH),
        ({"MCP-Protocol-Version": "2099-01-01"}, 400, MISMATCH),
        ({"MCP-Protocol-Version": None}, 400, "header_mismatch"),
    ],
)
async def test_headers_that_contradict_the_body_are_refused(change, status, code):
    async with listening() as gateway:
        headers = {
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "call_tool",
        }
        headers = gateway.headers() | {k: v for k, v in (headers | change).items() if v}
        body = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": enveloped(called("x")),
        }
        async with gateway.http.post(gateway.url, json=body, headers=headers) as response:
            assert await code_of(response) == (status, code)
            answer = await response.json()
        assert (answer["id"], answer["error"]["code"]) == (7, MISMATCH)


async def test_a_version_that_is_not_served_is_refused_with_those_that_are():
    params = enveloped(called("echo"))
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with listening() as gateway:
        headers = gateway.headers() | {
            "MCP-Protocol-Version": "2099-01-01",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "call_tool",
        }
        async with gateway.http.post(gateway.url, json=body, headers=headers) as response:
            assert response.status == 400
            error = (await response.json())["error"]
    assert error["code"] == VERSION
    assert MODERN in error["data"]["supported"]


async def test_an_unknown_method_is_not_found():
    async with listening() as gateway:
        async with await gateway.modern("no/such", {}) as response:
            assert await code_of(response) == (404, UNKNOWN_METHOD)
        async with await gateway.modern("server/discover", {}) as response:
            assert response.status == 200
            assert MODERN in (await response.json())["result"]["supportedVersions"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", PARSE),
        (b"[]", INVALID),
        (b"[" * 200_000, PARSE),
        (b"1", INVALID),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID),
    ],
)
async def test_a_body_that_is_no_message_is_refused(content, code):
    async with listening() as gateway:
        headers = gateway.headers() | {
            "Content-Type": "application/json",
            "MCP-Protocol-Version": MODERN,
        }
        async with gateway.http.post(gateway.url, data=content, headers=headers) as response:
            assert await code_of(response) == (400, code)


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(monkeypatch):
    async def pieces():
        for _ in range(10):
            yield b"x" * 500

    monkeypatch.setattr(body, "hold_body", functools.partial(body.hold_body, max_bytes=1_000))
    async with listening() as gateway:
        headers = gateway.headers() | {"Content-Type": "application/json"}
        for content in (b"x" * 1_001, pieces()):
            async with gateway.http.post(gateway.url, data=content, headers=headers) as response:
                assert await code_of(response) == (413, "message_too_large")


async def test_a_body_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(body, "CHUNK_TIMEOUT_S", 0.05)
    never = asyncio.Event()

    async def pieces():
        yield b"{"
        await never.wait()

    async with listening() as gateway:
        headers = gateway.headers() | {"Content-Type": "application/json"}
        async with gateway.http.post(gateway.url, data=pieces(), headers=headers) as response:
            assert await code_of(response) == (408, "request_timed_out")
            assert response.headers["Connection"] == "close"
        never.set()


async def test_incomplete_bodies_count_as_open_requests(monkeypatch):
    monkeypatch.setattr(gate, "open_requests", Shares(Bound(total=4, each=1)))
    hold, coming, rest = body.hold_body, asyncio.Event(), asyncio.Event()

    def noticed(receive, **given):
        coming.set()
        return hold(receive, **given)

    async def pieces():
        yield b"{"
        await rest.wait()

    monkeypatch.setattr(body, "hold_body", noticed)

    async with listening() as gateway:
        headers = gateway.headers() | {"Content-Type": "application/json"}
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(
                gateway.http.post(gateway.url, data=pieces(), headers=headers).__aenter__()
            )
            await coming.wait()
            async with await gateway.call("echo") as response:
                status = response.status
            rest.set()
            (await slow).release()
        assert status == 429


async def test_each_request_is_logged_without_secrets():
    async with listening() as gateway:
        async with await gateway.call("echo", text="private words") as response:
            request_id = response.headers["X-Request-ID"]
        headers = await gateway.session()
    lines = [json.loads(line) for line in "\n".join(gateway.lines).split("\n")]
    assert {line["status"] for line in lines} == {200, 202}
    first = lines[0]
    assert (first["user"], first["mcp"], first["request_id"]) == ("ann", "tools/call", request_id)
    told = json.dumps(lines)
    assert "tok-ann" not in told
    assert "private words" not in told
    assert headers["Mcp-Session-Id"] not in told


async def test_a_request_may_supply_its_own_id():
    async with listening() as gateway:
        params = called("echo")
        async with await gateway.modern("tools/call", params, **{"X-Request-ID": "abc"}) as answer:
            assert answer.headers["X-Request-ID"] == "abc"
        bad = {"X-Request-ID": "no spaces, please"}
        async with await gateway.modern("tools/call", params, **bad) as answer:
            assert answer.headers["X-Request-ID"] != bad["X-Request-ID"]


async def test_without_authentication_requests_act_as_the_local_user():
    async with listening(open_to_all=True) as gateway:
        assert await gateway.text("echo", bearer="whatever") == "local:"
        headers = await gateway.session("")
        async with gateway.legacy("tools/call", called("echo"), headers) as response:
            assert (await response.json())["result"]["content"][0]["text"] == "local:"


async def test_other_paths_are_not_found():
    async with listening() as gateway:
        base = gateway.url.removesuffix("/mcp")
        async with gateway.http.get(f"{base}/health") as response:
            assert await response.json() == {"status": "ok"}
        async with gateway.http.get(f"{base}/health/ready") as response:
            assert response.status in (200, 503)
        async with gateway.http.get(f"{base}/metrics") as response:
            assert response.status == 401
        async with gateway.http.get(f"{base}/metrics", headers=gateway.headers()) as response:
            assert response.status == 403
        async with gateway.http.get(f"{base}/.well-known/anything") as response:
            assert response.status == 404
        assert LEGACY < MODERN


async def test_each_request_of_a_session_is_handled_under_its_own_id():
    async with listening() as gateway:
        headers = await gateway.session("tok-ann")
        for mark in ("first", "second"):
            params = called("request_id")
            named = headers | {"X-Request-ID": mark}
            async with gateway.legacy("tools/call", params, named) as answer:
                assert f"ann:{mark}" in await answer.text()
        params = called("request_id")
        async with await gateway.modern(
            "tools/call", params, **{"X-Request-ID": "third"}
        ) as answer:
            assert "ann:third" in await answer.text()


async def test_bodies_of_one_user_leave_room_for_others(monkeypatch):
    monkeypatch.setattr(body, "UNCOUNTED_BYTES", 0)
    monkeypatch.setattr(body, "body_bytes", Shares(Bound(total=4_000, each=2_000, fraction=0.5)))
    text = "x" * 900
    async with listening() as gateway:
        hanging = asyncio.create_task((await gateway.call("hang", text=text)).__aenter__())
        await gateway.handled.began.wait()
        async with await gateway.call("echo", text=text) as response:
            assert await code_of(response) == (429, "throttled")
        assert await gateway.text("echo", bearer="tok-bob") == "bob:"
        gateway.handled.release.set()
        (await hanging).release()
        assert await gateway.text("echo", text=text) == f"ann:{text}"


async def test_bytes_of_unknown_number_are_counted_as_they_come(monkeypatch):
    monkeypatch.setattr(body, "UNCOUNTED_BYTES", 0)
    monkeypatch.setattr(body, "body_bytes", Shares(Bound(total=4_000, each=1_000, fraction=1.0)))

    async def pieces():
        for _ in range(3):
            yield b"x" * 500

    async with listening() as gateway:
        headers = gateway.headers() | {"Content-Type": "application/json"}
        async with gateway.http.post(gateway.url, data=pieces(), headers=headers) as response:
            assert await code_of(response) == (429, "throttled")
        assert len(body.body_bytes) == 0
