"""A result stays what the server sent."""

import copy
from typing import Any

import pytest
from mcp_types import TextContent

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
    assert isinstance(result.content, list)
    assert result.is_error is (raw.get("isError") is True)
    assert result.raw is raw
    assert raw == before


def test_a_conforming_result_can_be_read_through_its_fields():
    result = UpstreamResult(raw=CONFORMING)
    assert result.is_valid
    assert isinstance(result.content[0], TextContent)
    assert result.structured_content == CONFORMING["structuredContent"]
    assert result.meta == {"k": "v"}


def test_of_a_result_that_does_not_conform_the_fields_hold_what_can_be_read():
    raw: dict[str, Any] = {
        "content": [{"type": "hologram"}, {"type": "text", "text": "x"}],
        "structuredContent": 5,
        "isError": True,
        "_meta": {"k": "v"},
    }
    result = UpstreamResult(raw=raw)
    assert not result.is_valid
    assert [block.type for block in result.content] == ["text"]
    assert (result.structured_content, result.is_error) == (5, True)
    assert result.meta == {"k": "v"}
