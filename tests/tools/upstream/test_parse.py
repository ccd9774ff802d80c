"""From bytes to a message."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

from gateway_project.foundation.json_pieces import LARGE_BYTES
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
    b'{"jsonrpc": "2.0", "id": 1, "result": {"x": \xff}}',
    b'{"jsonrpc": "2.0", "id": 1}',
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


TOLERATED = {
    "byte order mark": (b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 1, "result": {}}', {}),
    "not UTF-8": (b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "caf\xe9"}}', {"x": "caf\ufffd"}),
    "unpaired surrogates": (
        rb'{"jsonrpc": "2.0", "id": 1, "result": {"x": "\ud83d\ude00 \ud83d \\ud83d"}}',
        {"x": "\U0001f600 \ufffd \\ud83d"},
    ),
    "list": (b'[{"jsonrpc": "2.0", "id": 1, "result": {}}]', {}),
    "float as id": (b'{"jsonrpc": "2.0", "id": 1.0, "result": {}}', {}),
    "null for absent members": (
        b'{"jsonrpc": "2.0", "id": 1, "method": null, "result": {"x": 1}, "error": null}',
        {"x": 1},
    ),
    "null for an empty result": (b'{"jsonrpc": "2.0", "id": 1, "result": null}', {}),
    "empty result of PHP": (b'{"jsonrpc": "2.0", "id": 1, "result": []}', {}),
}


@pytest.mark.parametrize(("text", "result"), TOLERATED.values(), ids=TOLERATED)
def test_faults_that_clients_tolerate_cost_no_answer(text, result):
    assert read_message(text) == JSONRPCResponse(jsonrpc="2.0", id=1, result=result)


def test_an_unpaired_surrogate_costs_no_large_answer_either():
    text = b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "%b\\ud83d"}}' % (b"x" * LARGE_BYTES)
    assert read_message(text).result == {"x": "x" * LARGE_BYTES + "\ufffd"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (b'"cursor_invalid"', "cursor_invalid"),
        (b'{"code": "E_GONE", "message": "it is gone"}', '"it is gone"'),
        (b'{"message": "no code"}', "no code"),
        (b"{}", "{}"),
    ],
)
def test_an_error_of_any_form_is_told(error, message):
    told = read_message(b'{"jsonrpc": "2.0", "id": 1, "error": %b, "result": null}' % error)
    assert message in told.error.message


def test_empty_parameters_of_php_are_an_object():
    text = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}'
    assert read_message(text).params == {}


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
