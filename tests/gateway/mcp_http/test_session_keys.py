"""Which requests over HTTP belong to one session."""

from typing import Any

from tests.gateway.mcp_http.conftest import META, MODERN, called, listening

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01"
SPANS = ("00f067aa0ba902b7", "b7ad6b7169203331")


async def stateless(gateway, *, bearer="tok-ann", client: Any = "one", trace: Any = None):
    """Return the session of a stateless request."""
    meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
    if client is not None:
        meta[f"{META}clientInfo"] = {"name": client, "version": "1"}
    if trace is not None:
        meta["traceparent"] = trace
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": called("session") | {"_meta": meta},
    }
    headers = gateway.headers(bearer) | {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "call_tool",
    }
    async with gateway.http.post(gateway.url, json=body, headers=headers) as response:
        return (await response.json())["result"]["content"][0]["text"]


async def in_session(gateway, headers):
    """Return the session of a request of the handshake era."""
    async with gateway.legacy("tools/call", called("session"), headers, id_=2) as response:
        return (await response.json())["result"]["content"][0]["text"]


async def test_stateless_requests_of_a_token_and_client_are_one_session():
    async with listening() as gateway:
        first, again = await stateless(gateway), await stateless(gateway)
        assert first == again
        others = [
            await stateless(gateway, client="two"),
            await stateless(gateway, client=None),
            await stateless(gateway, bearer="tok-bob"),
            await stateless(gateway, trace=TRACE.format(SPANS[0])),
        ]
        assert len({first, *others}) == 5


async def test_the_spans_of_a_trace_are_one_session():
    async with listening() as gateway:
        first, second = [await stateless(gateway, trace=TRACE.format(span)) for span in SPANS]
        assert first == second


async def test_a_malformed_trace_is_none():
    async with listening() as gateway:
        plain = await stateless(gateway)
        for trace in ("00-x", "", 7, {"a": 1}):
            assert await stateless(gateway, trace=trace) == plain


async def test_the_token_is_not_in_the_session():
    async with listening() as gateway:
        assert "tok-ann" not in await stateless(gateway)


async def test_a_long_client_name_is_cut():
    async with listening() as gateway:
        session = await stateless(gateway, client="x" * 10_000)
        assert len(session) < 200


async def test_each_session_of_the_handshake_era_is_a_session():
    async with listening() as gateway:
        one, two = await gateway.session(), await gateway.session()
        sessions = [await in_session(gateway, headers) for headers in (one, two, one)]
        assert sessions[0] == sessions[2]
        assert sessions[0] != sessions[1]
        assert await stateless(gateway) not in sessions
