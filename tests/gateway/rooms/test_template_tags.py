from datetime import UTC, datetime

import pytest

from gateway_project.templatetags import console

AT = datetime(2026, 11, 24, 12, 30, tzinfo=UTC)


def test_a_time_is_relative_with_the_absolute_one_on_hover():
    shown = console.ago(AT)
    assert 'title="2026-11-24 12:30:00 UTC"' in shown
    assert 'datetime="2026-11-24T12:30:00+00:00"' in shown
    assert console.ago(None) == "—"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "just now"), (-5, "in a moment"), (59, "just now"), (7_200, "2 h ago")],
)
def test_ages_are_said_in_words(seconds, words):
    now = datetime.fromtimestamp(AT.timestamp() + seconds, UTC)
    assert console.describe_age(AT, now=now) == words


def test_a_text_of_a_server_is_escaped_spelt_out_and_cut():
    short = console.untrusted("<b>\u202e")
    assert "<b>" not in short
    assert "\\u202e" in short
    assert "<details" not in short
    long = console.untrusted("<script>" * 100)
    assert "<script>" not in long
    assert "more" in long
    assert long.count("&lt;script&gt;") > 100
    assert "&lt;" not in console.untrusted(None)


def test_a_text_of_a_server_within_a_link_holds_nothing_to_open():
    assert console.untrusted_line("git") == console.untrusted("git")
    long = console.untrusted_line("<b>\u202e" * 100)
    assert "<details" not in long
    assert "<b>" not in long
    assert f'title="{"&lt;b&gt;" + chr(92) + "u202e"}' in long


def test_a_state_is_a_badge_with_a_word():
    assert console.badge("waiting") == '<span class="badge badge--warn">waits for a person</span>'
    assert console.badge("<b>") == '<span class="badge badge--muted">&lt;b&gt;</span>'
