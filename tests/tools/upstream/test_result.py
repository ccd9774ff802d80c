"""A result stays what the server sent."""

import copy

import pytest

from tools.upstream.result import UpstreamResult

CONFORMING = {
    "content": [{"type": "text", "text": "x", "custom": {"a": None}}],
    "structuredContent": {"n": None, "list": [1, None]},
    "_meta": {"k": "v"},
    "resultType": "complete",
    "unknown": [1],
}


@pytest.mark.parametrize(
    "raw",
    [
        CONFORMING,
        {},
        {"content": None},
        {"content": "text"},
        {"content": [{"type": "hologram"}, {"type": "text", "text": "x"}, 7], "isError": True},
        {"content": [], "isError": "yes", "_meta": 3},
    ],
)
def test_a_result_is_kept_unchanged_whatever_it_contains(raw):
    before = copy.deepcopy(raw)
    result = UpstreamResult(raw=raw)
    assert result.is_error is (raw.get("isError") is True)
    assert result.raw is raw
    assert raw == before
