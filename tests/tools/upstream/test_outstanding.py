"""Requests that wait for an answer."""

from tools.upstream.outstanding import Outstanding


def test_an_answer_that_names_its_request_belongs_to_it_alone():
    waiting = Outstanding()
    waiting.sent(1, "tools/call")
    waiting.sent(2, "tools/call")
    assert waiting.owner(2) == 2
    assert waiting.owner(3) is None


def test_an_answer_without_a_name_belongs_to_the_only_request_waiting():
    waiting = Outstanding()
    assert waiting.owner(None) is None
    waiting.sent(1, "tools/call")
    assert waiting.owner(None) == 1
    waiting.sent(2, "tools/list")
    assert waiting.owner(None) is None


def test_open_ended_requests_do_not_count_as_waiting():
    waiting = Outstanding()
    waiting.sent("listen-1", "subscriptions/listen")
    waiting.sent(1, "server/discover")
    assert waiting.owner(None) is None
    waiting.sent(2, "tools/call")
    assert waiting.owner(None) == 2


def test_an_answer_ends_the_wait_and_tells_what_was_asked():
    waiting = Outstanding()
    waiting.sent(7, "tools/call")
    assert waiting.answered("7") == "tools/call"
    assert waiting.answered(7) is None
    assert waiting.answered(None) is None


def test_a_cancellation_ends_the_wait():
    waiting = Outstanding()
    waiting.sent("x", "tools/call")
    waiting.cancelled({"requestId": "x"})
    assert waiting.owner(None) is None
    waiting.cancelled(None)
    waiting.cancelled({"requestId": [1]})
