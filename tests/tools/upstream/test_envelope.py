"""Requests carry what the protocol of their server wants around them."""

import pytest

from tools.definition import Definition
from tools.upstream.handshake import RequestEnvelope
from tools.upstream.in_flight import UpstreamRequest
from tools.upstream.request import Downstream
from tools.upstream.status import ServerPeer

MODERN = ServerPeer(era="modern", protocol_version="2026-07-28")
LEGACY = ServerPeer(era="legacy", protocol_version="2025-06-18")
PREFIX = "io.modelcontextprotocol/"


def request(method="tools/call", params=None, **values):
    params = {"name": "t", "arguments": {"where": "é", "n": 3}} if params is None else params
    return UpstreamRequest(method=method, params=params, timeout_s=1.0, **values)


def tool(**properties):
    return Definition(name="t", input_schema={"type": "object", "properties": properties})


async def report(progress, total, message): ...


@pytest.mark.parametrize("peer", [MODERN, LEGACY])
def test_keys_of_the_protocol_are_ours_and_all_others_pass(peer):
    theirs = {PREFIX + "protocolVersion": "x", PREFIX + "clientInfo": 1, "progressToken": 5}
    theirs |= {PREFIX + "clientCapabilities": 1, PREFIX + "logLevel": "debug"}
    theirs |= {PREFIX + "subscriptionId": 1, "traceparent": "00-1", PREFIX + "related-task": {}}
    meta = RequestEnvelope(peer, over_http=False).build_params(request(meta=theirs), 9)["_meta"]
    assert meta.pop("traceparent") == "00-1"
    assert meta.pop(PREFIX + "related-task") == {}
    assert meta.pop("progressToken") == 9
    if peer is LEGACY:
        assert meta == {}
    else:
        assert meta.pop(PREFIX + "clientInfo")["name"] == "foregate"
        shown = {PREFIX + "ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
        shown[PREFIX + "tasks"] = {}
        capabilities = {PREFIX + "clientCapabilities": {"extensions": shown}}
        assert meta == {PREFIX + "protocolVersion": "2026-07-28", **capabilities}


def test_progress_is_asked_for_if_it_is_wanted_or_can_extend_a_call():
    envelope = RequestEnvelope(LEGACY, over_http=False)
    read = {"method": "resources/read", "params": {"uri": "x:"}}
    asking = [request(), request(progress=report), request(**read, progress=report)]
    for each in asking:
        assert envelope.build_params(each, 9)["_meta"] == {"progressToken": 9}
    for each in (request(**read), request(is_extensible=False)):
        assert "_meta" not in envelope.build_params(each, 9)


def test_a_legacy_server_is_not_told_of_capabilities_with_each_request():
    downstream = Downstream(capabilities={"roots": {}}, log_level="debug")
    params = RequestEnvelope(LEGACY, over_http=False).build_params(
        request(downstream=downstream), 1
    )
    assert params["_meta"] == {"progressToken": 1}


def test_only_http_has_headers():
    assert RequestEnvelope(MODERN, over_http=False).build_headers(request()) is None
    assert RequestEnvelope(LEGACY, over_http=True).build_headers(request()) == {
        "mcp-protocol-version": "2025-06-18"
    }


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "t"}, "t"),
        ("prompts/get", {"name": "p"}, "p"),
        ("resources/read", {"uri": "file:///ä"}, "=?base64?ZmlsZTovLy/DpA==?="),
        ("tools/list", {"name": "x"}, None),
        ("prompts/get", {"name": 5}, None),
    ],
)
def test_a_modern_request_is_named_in_its_headers(method, params, name):
    headers = RequestEnvelope(MODERN, over_http=True).build_headers(request(method, params))
    assert headers["mcp-method"] == method
    assert headers.get("mcp-name") == name


def test_arguments_are_mirrored_as_their_tool_wishes():
    envelope = RequestEnvelope(MODERN, over_http=True)
    assert envelope.is_missing_headers(request())
    assert not envelope.is_missing_headers(request("prompts/get"))
    where = {"type": "string", "x-mcp-header": "Where"}
    absent = {"type": "string", "x-mcp-header": "Absent"}
    envelope.learn_headers([tool(where=where, n={"type": "integer"}, absent=absent)])
    assert not envelope.is_missing_headers(request())
    headers = envelope.build_headers(request())
    assert {key: value for key, value in headers.items() if key.startswith("Mcp-Param")} == {
        "Mcp-Param-Where": "=?base64?w6k=?="
    }


@pytest.mark.parametrize(("peer", "over_http"), [(LEGACY, True), (MODERN, False)])
def test_nothing_is_mirrored_without_declared_headers(peer, over_http):
    envelope = RequestEnvelope(peer, over_http=over_http)
    assert not envelope.is_missing_headers(request())
    envelope.learn_headers([tool(where={"type": "string", "x-mcp-header": "Where"})])
    assert "Mcp-Param-Where" not in (envelope.build_headers(request()) or {})
