"""What a client is told whose line is no message."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from gateway_project.mcp import refused_lines

DEEP = "[" * 10_000 + "]" * 10_000


def refused(line):
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        return refused_lines.answer_refused(line, error).model_dump(exclude_unset=True)
    raise AssertionError


@pytest.mark.parametrize(
    ("line", "identifier", "code"),
    [
        (f'{{"id": 7, "method": "tools/call", "params": {DEEP}}}', 7, -32700),
        (
            f'{{"method": "tools/call", "params": {{"id": 1, "x": {DEEP}}}, "id": "é"}}',
            "é",
            -32700,
        ),
        (f'{{"id": 7, "result": {DEEP}}}', None, -32700),
        (f'{{"id": 7.5, "method": "m", "params": {DEEP}}}', None, -32700),
        (f'{{"id": {"9" * 5_000}, "method": "m", "params": {DEEP}}}', None, -32700),
        ('{"id": 7, "method": "m", "params": {', 7, -32700),
        ("{", None, -32700),
        ('"', None, -32700),
        ("null", None, -32600),
        ("[]", None, -32600),
        ('[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', None, -32600),
        ('{"jsonrpc": "1.0", "id": 7, "method": "ping"}', 7, -32600),
        ('{"jsonrpc": "2.0", "id": 7, "method": "m", "params": []}', 7, -32600),
        ('{"jsonrpc": "2.0", "id": 7}', None, -32600),
        ('{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}', None, -32700),
        ('{"jsonrpc": "2.0", "id": 7, "method": "\\ud83d"}', 7, -32700),
    ],
)
def test_the_problem_is_reported_under_the_request_id(line, identifier, code):
    answer = refused(line)
    assert (answer["id"], answer["error"]["code"]) == (identifier, code)


@pytest.mark.parametrize("identifier", ["1.5", "1.0", "true", "null", "{}", "[1]"])
def test_a_request_with_an_invalid_id_is_reported(identifier):
    line = f'{{"jsonrpc": "2.0", "id": {identifier}, "method": "ping"}}'
    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    answer = refused_lines.answer_wrong_id(message, json.loads(line)).model_dump(
        exclude_unset=True
    )
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    "said", ['"id": 7, "method": "m"', '"method": "m", "params": {"id": 1.5}']
)
def test_requests_and_notifications_are_let_through(said):
    line = f'{{"jsonrpc": "2.0", {said}}}'
    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    assert refused_lines.answer_wrong_id(message, json.loads(line)) is None


@given(
    st.dictionaries(
        st.text(max_size=3) | st.sampled_from(["id", "method"]),
        st.recursive(
            st.integers() | st.text(max_size=5) | st.floats(allow_nan=False) | st.none(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
        ),
    )
)
def test_string_and_integer_ids_are_found_in_any_context(value):
    expected = {
        key: item
        for key, item in value.items()
        if isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool))
    }
    assert refused_lines._read_top_level(json.dumps(value)) == expected


@pytest.mark.parametrize(
    "unit", ["[", '"', '\\"', '"" ', '"":', '"":"', '"":1', "\\", '"\\', " ", '"":   ', "1" * 9]
)
def test_no_line_takes_long_to_refuse(unit):
    line = '{"id": 7, "method": "m", "' + unit * (900_000 // len(unit))
    began = time.process_time()
    refused(line)
    assert time.process_time() - began < 30  # what is looked at again and again takes minutes


def test_a_line_that_is_too_long_to_search_is_refused_without_its_id():
    line = '{"id": 7, "method": "m", ' + " " * refused_lines.MAX_SEARCHED
    assert refused(line)["id"] is None
