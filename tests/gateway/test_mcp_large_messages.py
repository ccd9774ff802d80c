"""Large messages of clients, over the real streams."""

import json

import pytest
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from gateway_project.foundation import json_pieces, json_size
from gateway_project.foundation.json_pieces import LARGE_BYTES, TooManyValues
from gateway_project.mcp import encoding, refused_lines, stdio
from gateway_project.mcp.http import body

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}


def line(**members):
    return json.dumps(members)


@pytest.mark.parametrize(
    "value", ["x" * LARGE_BYTES, list(range(60_000)), {"é": "é" * LARGE_BYTES}]
)
def test_large_and_small_lines_are_parsed_alike(value):
    text = line(**CALL, params={"name": "n", "arguments": {"a": value}})
    assert len(text) > LARGE_BYTES
    assert stdio._read_large_line(text) == stdio._read_line(text)


@pytest.mark.parametrize(
    "text",
    [
        line(**CALL, params={"a": "x" * LARGE_BYTES})[:-1],
        line(jsonrpc="2.0", params="x" * LARGE_BYTES),
        line(jsonrpc="2.0", id=1.5, method="ping", params={"a": "x" * LARGE_BYTES}),
    ],
)
def test_large_and_small_invalid_lines_are_refused_alike(text):
    large, small = stdio._read_large_line(text)[1], stdio._read_line(text)[1]
    assert isinstance(large, JSONRPCError)
    assert (large.id, large.error.code) == (small.id, small.error.code)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_call_with_too_many_values_has_a_result_that_says_so(monkeypatch, is_first):
    monkeypatch.setattr(json_pieces, "MAX_VALUES", 1_000)
    params = {"name": "n", "arguments": {"a": [0] * 200_000}}
    ends = {"jsonrpc": "2.0", "id": "an id"}
    head = {"method": "tools/call"}
    text = line(**ends, **head, params=params) if is_first else line(**head, params=params, **ends)
    _, answer = stdio._read_large_line(text)
    assert isinstance(answer, JSONRPCResponse)
    assert answer.id == "an id"
    assert answer.result["isError"]
    assert "arguments_too_costly" in answer.result["content"][0]["text"]
    assert answer.result["_meta"]["foregate/error"]["code"] == "arguments_too_costly"


def test_another_request_with_too_many_values_has_an_error_that_says_so():
    text = line(jsonrpc="2.0", id=3, method="prompts/get", params={})
    answer = refused_lines.answer_too_many_values(text, TooManyValues(5))
    assert isinstance(answer, JSONRPCError)
    assert (answer.id, answer.error.code) == (3, -32600)
    assert answer.error.message.startswith("arguments_too_costly")


@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
def test_an_id_with_half_a_surrogate_pair_is_not_sent_back(method):
    text = line(jsonrpc="2.0", id="\ud83d", method=method, params={})
    answer = refused_lines.answer_too_many_values(text, TooManyValues(5))
    assert isinstance(answer, JSONRPCError)
    assert (answer.id, answer.error.code) == (None, -32600)


def test_a_notification_with_too_many_values_is_named_by_no_id():
    answer = refused_lines.answer_too_many_values(line(result=[1], id=3), TooManyValues(5))
    assert answer.id is None


async def test_large_and_small_bodies_are_parsed_alike():
    value = {**CALL, "params": {"a": ["x"] * 100_000}}
    assert await body.parse_body(json.dumps(value).encode()) == value
    with pytest.raises(ValueError, match="too soon"):
        await body.parse_body(json.dumps(value).encode()[:-2])


def test_the_http_status_distinguishes_results_from_errors():
    whole = json.dumps({**CALL, "params": {}}).encode()
    answer, status = body.answer_too_many_values(whole, TooManyValues(5))
    assert (answer.id, status) == (7, 200)
    answer, status = body.answer_too_many_values(b"[]", TooManyValues(5))
    assert (answer.id, status) == (None, 400)


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": "é\n" * 600_000}]},
        {"rows": [[place, None, 1.5, float("nan")] for place in range(20_000)]},
    ],
)
async def test_large_and_small_answers_are_serialized_alike(result):
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    assert json_size.is_large_to_write(json_size.collect_set_members(message))
    in_pieces = await encoding.write_message(message)
    assert await encoding.write_answer(1, {"result": result}) == in_pieces
    assert in_pieces == encoding.message_to_json(message)


async def test_a_large_answer_that_no_client_can_read_is_an_error_under_its_id():
    deep: list = []
    for _ in range(200):
        deep = [deep]
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result={"a": "x" * 10**6, "b": deep})
    answer = json.loads(await encoding.write_message(message))
    assert (answer["id"], answer["error"]["code"]) == (1, -32603)
    asking = JSONRPCRequest(jsonrpc="2.0", id=1, method="m", params={"a": ["\ud83d"] * 20_000})
    assert await encoding.write_message(asking) is None
