from datetime import UTC, datetime, timedelta

import pytest

from tools.server_condition import LONGEST_ATTEMPT, ServerHistory, judge_condition

NOW = datetime(2026, 11, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
LONG_AGO = NOW - LONGEST_ATTEMPT - timedelta(seconds=1)


def test_a_request_shows_although_an_earlier_attempt_was_cut_off():
    asked_at = NOW - timedelta(seconds=1)
    judged = judge_condition(
        ServerHistory(enabled=True, started_at=LONG_AGO, requested_at=asked_at), now=NOW
    )
    assert (judged.word, judged.since) == ("starting", asked_at)


def test_an_attempt_under_way_shows_although_it_was_requested_long_ago():
    begun_at = NOW - timedelta(seconds=1)
    judged = judge_condition(
        ServerHistory(enabled=True, started_at=begun_at, requested_at=LONG_AGO), now=NOW
    )
    assert (judged.word, judged.since) == ("starting", begun_at)


def test_an_attempt_that_was_cut_off_does_not_show_for_ever():
    judged = judge_condition(ServerHistory(enabled=True, started_at=LONG_AGO), now=NOW)
    assert judged.word == "never contacted"


@pytest.mark.parametrize(
    ("past", "word"),
    [
        ({}, "never contacted"),
        ({"enabled": False, "last_error_at": NOW}, "disabled"),
        ({"discovered_at": NOW}, "up"),
        ({"last_connected_at": LATER, "last_error_at": NOW, "last_error": "x"}, "up"),
        ({"last_error_at": NOW, "last_error": "x"}, "failing"),
        ({"discovered_at": NOW, "last_error_at": LATER, "last_error": "x"}, "failing"),
        (
            {"last_error_at": NOW, "last_error": "x", "error_code": "sign_in_required"},
            "sign-in needed",
        ),
        ({"requested_at": LATER}, "starting"),
        ({"started_at": LATER, "last_error_at": NOW, "last_error": "x"}, "starting"),
        ({"started_at": LATER - LONGEST_ATTEMPT, "discovered_at": NOW}, "up"),
    ],
)
def test_a_servers_condition_follows_its_latest_record(past, word):
    judged = judge_condition(ServerHistory(**{"enabled": True} | past), now=LATER)
    assert judged.word == word
    assert bool(judged.reason) == (word in ("failing", "sign-in needed"))
