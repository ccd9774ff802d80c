"""Requests that wait for an answer."""

from tools.upstream.outstanding import OutstandingRequests


def test_an_answer_that_names_its_request_belongs_to_it_alone():
    waiting = OutstandingRequests()
    waiting.mark_sent(1, "tools/call")
    waiting.mark_sent(2, "tools/call")
    assert waiting.find_owner(2) == 2
    assert waiting.find_owner(3) is None


def test_an_answer_without_a_name_belongs_to_the_only_request_waiting():
    waiting = OutstandingRequests()
    assert waiting.find_owner(None) is None
    waiting.mark_sent(1, "tools/call")
    assert waiting.find_owner(None) == 1
    waiting.mark_sent(2, "tools/list")
    assert waiting.find_owner(None) is None


def test_open_ended_requests_do_not_count_as_waiting():
    waiting = OutstandingRequests()
    waiting.mark_sent("listen-1", "subscriptions/listen")
    waiting.mark_sent(1, "server/discover")
    assert waiting.find_owner(None) is None
    waiting.mark_sent(2, "tools/call")
    assert waiting.find_owner(None) == 2


def test_an_answer_removes_its_request_and_returns_the_method():
    waiting = OutstandingRequests()
    waiting.mark_sent(7, "tools/call")
    assert waiting.mark_answered("7") == "tools/call"
    assert waiting.mark_answered(7) is None
    assert waiting.mark_answered(None) is None


def test_a_cancellation_ends_the_wait():
    waiting = OutstandingRequests()
    waiting.mark_sent("x", "tools/call")
    waiting.mark_notified({"requestId": "x"})
    assert waiting.mark_answered("x") is None
    waiting.mark_notified(None)
    waiting.mark_notified({"requestId": [1]})


def test_an_answer_without_a_name_may_be_one_to_a_notification():
    waiting = OutstandingRequests()
    assert not waiting.claim_notification()
    waiting.mark_notified(None)
    waiting.mark_sent(1, "tools/list")
    assert waiting.claim_notification()
    assert not waiting.claim_notification()


def test_a_notification_is_not_answered_after_what_was_sent_later():
    waiting = OutstandingRequests()
    waiting.mark_sent(1, "tools/call")
    waiting.mark_notified(None)
    waiting.mark_sent(2, "tools/list")
    waiting.mark_answered(1)
    waiting.mark_answered(2)
    assert not waiting.claim_notification()
