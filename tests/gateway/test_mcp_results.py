import pytest
from mcp.server.caching import CacheHint
from mcp_types import SERVER_INFO_META_KEY

from gateway_project.mcp.results import ServerReply, shape_result

INFO = {"name": "foregate"}
STAMP = {SERVER_INFO_META_KEY: INFO}
PRIVATE, PUBLIC = CacheHint(), CacheHint(ttl_ms=9, scope="public")


@pytest.mark.parametrize(
    ("raw", "meta", "sent"),
    [
        ({"content": 5}, {}, {"content": 5}),
        ({"resultType": "complete"}, {}, {}),
        ({"_meta": {"a": 1}}, {"b": 2}, {"_meta": {"a": 1, "b": 2}}),
        (
            {"_meta": {"foregate/error": {"code": "approval_required"}, "foregate/served": {}}},
            {},
            {"_meta": {}},
        ),
        ({"_meta": "text"}, {"b": 2}, {"_meta": {"b": 2}}),
        ({"_meta": "text"}, {}, {"_meta": "text"}),
        ({"structuredContent": {"a": None}}, {}, {"structuredContent": {"a": None}}),
        ({"structuredContent": None}, {}, {"structuredContent": None}),
        ({"structuredContent": "x"}, {}, {"structuredContent": {"result": "x"}}),
    ],
)
def test_only_hop_metadata_is_changed(raw, meta, sent):
    before = dict(raw)
    assert shape_result(ServerReply(raw=raw, meta=meta), info=None, hint=PRIVATE) == sent
    assert raw == before


@pytest.mark.parametrize(
    ("raw", "hint", "sent"),
    [
        ({"content": []}, None, {"content": [], "resultType": "complete"}),
        ({"resultType": "input_required"}, PRIVATE, {"resultType": "input_required"}),
        (
            {"ttlMs": 5, "cacheScope": "public"},
            PRIVATE,
            {"ttlMs": 5, "cacheScope": "private", "resultType": "complete"},
        ),
        (
            {"cacheScope": "private"},
            PUBLIC,
            {"cacheScope": "private", "ttlMs": 9, "resultType": "complete"},
        ),
    ],
)
def test_a_result_of_the_stateless_era_has_its_envelope(raw, hint, sent):
    before = dict(raw)
    shaped = shape_result(ServerReply(raw=raw), info=INFO, hint=hint)
    assert shaped == {**sent, "_meta": STAMP}
    assert raw == before


def test_no_server_speaks_in_the_gateway_s_name():
    raw = {"_meta": {"foregate/result": {"uri": "x"}, "a": 1, SERVER_INFO_META_KEY: {"name": "s"}}}
    reply = ServerReply(raw=raw, meta={"foregate/call": {"tool": "a:b"}})
    meta = shape_result(reply, info=INFO, hint=None)["_meta"]
    assert meta == {"a": 1, "foregate/call": {"tool": "a:b"}, **STAMP}
