import pytest

from gateway_project.mcp import results


def test_nothing_can_be_carried_where_no_request_is_handled():
    with pytest.raises(RuntimeError, match="no request"):
        results.carry_result({})


@pytest.mark.parametrize(
    ("raw", "envelope", "modern", "sent"),
    [
        ({"content": 5}, {}, False, {"content": 5}),
        ({"content": []}, {}, True, {"content": [], "resultType": "complete"}),
        (
            {"resultType": "input_required"},
            {"resultType": "complete"},
            True,
            {"resultType": "input_required"},
        ),
        (
            {"ttlMs": 5, "cacheScope": "public"},
            {"ttlMs": 0, "cacheScope": "private"},
            True,
            {"ttlMs": 5, "cacheScope": "private", "resultType": "complete"},
        ),
        (
            {"cacheScope": "private"},
            {"cacheScope": "public"},
            True,
            {"cacheScope": "private", "resultType": "complete"},
        ),
        ({"resultType": "complete"}, {}, False, {}),
        ({"_meta": {"a": 1}}, {"_meta": {"b": 2}}, False, {"_meta": {"a": 1, "b": 2}}),
        (
            {"_meta": {"foregate/error": {"code": "approval_required"}, "foregate/served": {}}},
            {},
            False,
            {"_meta": {}},
        ),
        (
            {"_meta": {"foregate/result": {"uri": "x"}, "a": 1}},
            {"_meta": {"foregate/call": {"tool": "a:b"}}},
            True,
            {"_meta": {"a": 1, "foregate/call": {"tool": "a:b"}}, "resultType": "complete"},
        ),
        ({"_meta": "text"}, {"_meta": {"b": 2}}, False, {"_meta": {"b": 2}}),
        ({"_meta": "text"}, {}, False, {"_meta": "text"}),
        ({"structuredContent": {"a": None}}, {}, False, {"structuredContent": {"a": None}}),
        ({"structuredContent": None}, {}, False, {"structuredContent": None}),
        ({"structuredContent": "x"}, {}, False, {"structuredContent": {"result": "x"}}),
    ],
)
def test_only_hop_metadata_is_changed(raw, envelope, modern, sent):
    before = dict(raw)
    assert results.merge_result(raw, envelope, modern=modern) == sent
    assert raw == before
