"""What is written to clients: always JSON that they can read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic_core import from_json

from gateway_project.mcp import encoding


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def response(value, request_id=1):
    return JSONRPCResponse(jsonrpc="2.0", id=request_id, result={"value": value})


SOUND = [
    response({"a": [1, 2.5, None, True, "é\U0001f600"]}),
    JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=-32700, message="no")),
    JSONRPCError(jsonrpc="2.0", id="a", error=ErrorData(code=-1, message="no", data={"b": 1})),
    JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"),
    JSONRPCRequest(jsonrpc="2.0", id=1, method="ping", params={"a": []}),
]


@pytest.mark.parametrize("message", SOUND)
def test_messages_are_written_as_their_models_write_them(message):
    expected = message.model_dump_json(by_alias=True, exclude_unset=True)
    assert encoding.message_to_json(message).decode() == expected


def test_answers_are_written_up_to_the_nesting_clients_accept():
    assert from_json(encoding.message_to_json(response(nested(encoding.MAX_DEPTH - 2))))["result"]
    answer = json.loads(encoding.message_to_json(response(nested(encoding.MAX_DEPTH - 1))))
    assert answer["error"]["code"] == -32603


@pytest.mark.parametrize(
    "value", ["\ud83d", {"\udc00": 1}, nested(250), nested(900), nested(10_000), object()]
)
def test_an_answer_that_cannot_be_written_is_an_error_under_its_id(value, caplog):
    answer = json.loads(encoding.message_to_json(response(value, request_id="é")))
    assert answer["id"] == "é"
    assert answer["error"]["code"] == -32603
    assert answer["error"]["data"] == {"foregate/error": {"code": "internal_error"}}
    assert answer == json.loads(encoding.answer_to_json("é", {"result": {"value": value}}))


def test_an_unserializable_error_is_replaced_under_its_id():
    error = ErrorData(code=-1, message="no", data=["\ud83d"])
    answer = json.loads(encoding.message_to_json(JSONRPCError(jsonrpc="2.0", id=3, error=error)))
    assert (answer["id"], answer["error"]["code"]) == (3, -32603)


def test_an_unserializable_id_is_omitted():
    assert json.loads(encoding.answer_to_json("\ud83d", {"result": {}}))["id"] is None


@pytest.mark.parametrize("kind", [JSONRPCNotification, JSONRPCRequest])
def test_an_unserializable_notification_is_logged_and_dropped(kind, caplog):
    fields = {"id": 1} if kind is JSONRPCRequest else {}
    message = kind(jsonrpc="2.0", method="m", params={"a": "\ud83d"}, **fields)
    assert encoding.message_to_json(message) is None
    assert encoding.notification_to_json({"method": "m", "params": {"a": "\ud83d"}}) is None


def test_numbers_that_json_has_no_form_for_are_null():
    values = [float("nan"), float("inf"), -float("inf")]
    assert json.loads(encoding.encode_message({"a": values})) == {"a": [None, None, None]}


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    )
)
def test_every_answer_is_a_valid_message_under_its_id(value):
    text = encoding.message_to_json(response(value))
    assert jsonrpc_message_adapter.validate_json(text, by_name=False).id == 1
