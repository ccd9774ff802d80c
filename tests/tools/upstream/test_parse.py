"""From bytes to a message."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter

from tools.upstream import nesting
from tools.upstream.parse import MessageTooDeep, read_message

BAD = [
    b"",
    b"[]",
    b"7",
    b"{}",
    b'{"jsonrpc": "1.0", "id": 1, "result": {}}',
    b'{"jsonrpc": "2.0", "id": 1.5, "result": {}}',
    b'{"jsonrpc": "2.0", "id": 1, "result": 7}',
    b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "\xff"}}',
    b'{"jsonrpc": "2.0", "id": 1, "error": {}}',
    b'{"jsonrpc": "2.0", "method": 7}',
    b"[" * 100_000,
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}], [1',
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}, 1',
    b"], [",
]


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_an_invalid_message_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - whichever it is
        read_message(text)


MEMBERS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": st.integers(-5, 5) | st.text(max_size=3) | st.none() | st.booleans(),
        "method": st.text(max_size=3) | st.integers(),
        "params": st.dictionaries(st.text(max_size=2), st.integers(), max_size=2) | st.none(),
        "result": st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
        "error": st.fixed_dictionaries({"code": st.integers(-9, 9), "message": st.text()}),
    },
)


@given(MEMBERS)
def test_it_reads_what_the_sdk_reads(value):
    if len({"method", "result", "error"} & set(value)) != 1:
        return
    text = json.dumps(value).encode()
    try:
        expected = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return
    assert read_message(text) == expected


@pytest.mark.parametrize(("levels", "is_read"), [(nesting.PARSED_DEPTH, True), (191, False)])
def test_a_message_is_read_that_leaves_room_for_what_comes_around_it(levels, is_read):
    inner = b"[" * (levels - 2) + b"]" * (levels - 2)
    text = b'{"jsonrpc": "2.0", "id": 1, "result": {"a": ' + inner + b"}}"
    if is_read:
        assert read_message(text).id == 1
    else:
        with pytest.raises(MessageTooDeep, match="190 levels"):
            read_message(text)
