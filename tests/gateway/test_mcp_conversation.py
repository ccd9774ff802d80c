import json

import pytest

from gateway_project.mcp.conversation import (
    Conversation,
    is_replay_response,
    read_response_id,
)


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()


def test_a_request_without_an_answer_is_answered_with_an_error():
    conversation = Conversation()
    conversation.record_sent(line(id=1, method="tools/list"))
    [answer] = map(json.loads, conversation.take_failed_answers())
    assert (answer["id"], answer["error"]["code"]) == (1, -32603)


def test_a_call_without_an_answer_fails_where_the_model_reads_it():
    conversation = Conversation()
    conversation.record_sent(line(id="a", method="tools/call", params={}))
    [answer] = map(json.loads, conversation.take_failed_answers())
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"].startswith("gateway_lost: ")


def test_finished_requests_are_not_answered_again():
    conversation = Conversation()
    for identifier in (1, 2, 3):
        conversation.record_sent(line(id=identifier, method="tools/call"))
    conversation.record_answered(read_response_id(line(id=1, result={})))
    conversation.record_answered(read_response_id(line(id=2, error={"code": 1, "message": "x"})))
    conversation.record_sent(line(method="notifications/cancelled", params={"requestId": 3}))
    assert list(conversation.take_failed_answers()) == []


def test_the_ids_1_and_text_1_are_two():
    conversation = Conversation()
    conversation.record_sent(line(id=1, method="ping"))
    conversation.record_sent(line(id="1", method="ping"))
    conversation.record_answered(read_response_id(line(id="1", result={})))
    assert [json.loads(answer)["id"] for answer in conversation.take_failed_answers()] == [1]


def test_a_request_of_the_gateway_is_no_answer():
    conversation = Conversation()
    conversation.record_sent(line(id=1, method="tools/call"))
    conversation.record_answered(
        read_response_id(line(id=1, method="elicitation/create", params={"result": 1}))
    )
    assert len(list(conversation.take_failed_answers())) == 1


def test_the_state_of_a_session_is_repeated_under_ids_of_our_own():
    conversation = Conversation()
    opening = {"protocolVersion": "2025-11-25"}
    conversation.record_sent(line(id=0, method="initialize", params=opening))
    conversation.record_sent(line(method="notifications/initialized"))
    conversation.record_sent(line(id=1, method="logging/setLevel", params={"level": "info"}))
    conversation.record_sent(line(id=2, method="resources/subscribe", params={"uri": "a:b"}))
    conversation.record_sent(line(id=3, method="resources/subscribe", params={"uri": "a:c"}))
    conversation.record_sent(line(id=4, method="resources/unsubscribe", params={"uri": "a:b"}))
    repeated = [json.loads(one) for one in conversation.list_replay_lines()]
    assert [one["method"] for one in repeated] == [
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
        "resources/subscribe",
    ]
    assert repeated[0]["params"] == opening
    assert repeated[-1]["params"] == {"uri": "a:c"}
    assert all(is_replay_response(one["id"]) for one in repeated if "id" in one)
    assert "id" not in repeated[1]


def test_a_stateless_conversation_has_nothing_to_repeat():
    conversation = Conversation()
    conversation.record_sent(line(id=0, method="server/discover"))
    assert conversation.list_replay_lines() == ()


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[1]", b"7", b'{"method": 5}', b"[" * 100_000])
def test_rubbish_is_passed_over(rubbish):
    conversation = Conversation()
    conversation.record_sent(rubbish)
    conversation.record_answered(read_response_id(rubbish))
    assert list(conversation.take_failed_answers()) == []


@pytest.mark.parametrize("identifier", [0, -7, "x", 'quo"te', "ü"])
@pytest.mark.parametrize("spaced", [True, False])
def test_the_id_of_a_response_is_read_however_it_is_written(identifier, spaced):
    message = {"jsonrpc": "2.0", "id": identifier, "result": {"id": 99}}
    separators = (", ", ": ") if spaced else (",", ":")
    assert read_response_id(json.dumps(message, separators=separators).encode()) == identifier


def test_an_unpaired_surrogate_is_replayed_unchanged():
    conversation = Conversation()
    params = {"uri": "file:///\ud83d"}
    conversation.record_sent(line(id="\udc00", method="resources/subscribe", params=params))
    [subscribed] = map(json.loads, conversation.list_replay_lines())
    assert subscribed["params"] == params
    [answer] = map(json.loads, conversation.take_failed_answers())
    assert answer["id"] == "\udc00"
