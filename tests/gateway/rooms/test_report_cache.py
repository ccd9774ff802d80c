"""Reports are built once for all who look, in the background, and their age is bounded."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from gateway_project.console.rooms import report_cache
from gateway_project.console.rooms.report_cache import FRESH, MAX_AGE, ReportCache
from tests.patience import PATIENCE_S

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Background:
    """Does what it is given when it is told to."""

    def __init__(self):
        self.waiting = []

    def start(self, work):
        self.waiting.append(work)

    def work(self):
        while self.waiting:
            self.waiting.pop()()


def do_now(work):
    work()


def make_filled(build, start):
    """Return a cache that holds the report of team 1."""
    cache = ReportCache(build, do_now)
    cache.load(1, days=30, at=NOW)
    cache._start = start
    return cache


def test_an_old_report_is_shown_a_last_time_and_built_anew_once():
    built, background = [], Background()
    cache = make_filled(lambda team, days, at: built.append(at), background.start)
    first = cache.load(1, days=30, at=NOW + FRESH)
    assert not background.waiting
    later = NOW + FRESH + timedelta(seconds=1)
    assert cache.load(1, days=30, at=later) is first
    assert cache.load(1, days=30, at=later) is first
    assert len(background.waiting) == 1
    background.work()
    assert cache.load(1, days=30, at=later).built_at == later
    assert built == [NOW, later]


def test_a_very_old_report_is_not_shown():
    cache = make_filled(lambda team, days, at: at, do_now)
    later = NOW + MAX_AGE + timedelta(seconds=1)
    assert cache.load(1, days=30, at=later).built_at == later


def test_nobody_waits_for_long_until_a_report_is_there(monkeypatch):
    monkeypatch.setattr(report_cache, "PATIENCE_S", 0)
    background = Background()
    cache = ReportCache(lambda team, days, at: at, background.start)
    assert cache.load(1, days=30, at=NOW) is None
    assert cache.load(1, days=30, at=NOW) is None
    assert len(background.waiting) == 1
    background.work()
    assert cache.load(1, days=30, at=NOW).built_at == NOW


def test_a_report_that_fails_in_the_background_is_tried_again_at_the_next_visit():
    outcomes, background = iter([None, ValueError("away"), None]), Background()

    def build(team, days, at):
        if error := next(outcomes):
            raise error

    cache = make_filled(build, background.start)
    later = NOW + MAX_AGE
    for _ in range(2):
        assert cache.load(1, days=30, at=later).built_at == NOW
        background.work()
    assert cache.load(1, days=30, at=later).built_at == later


def test_teams_and_periods_have_reports_of_their_own():
    built = []
    cache = ReportCache(lambda team, days, _at: built.append((team, days)), do_now)
    for team, days in ((1, 30), (2, 30), (None, 30), (1, 90), (1, 30)):
        cache.load(team, days=days, at=NOW)
    assert built == [(1, 30), (2, 30), (None, 30), (1, 90)]


def test_visitors_at_the_same_time_wait_for_one_report(monkeypatch):
    monkeypatch.setattr(report_cache, "PATIENCE_S", PATIENCE_S)
    built, go_on = [], threading.Event()

    def build(team, days, at):
        built.append(team)
        assert go_on.wait(PATIENCE_S)

    with ThreadPoolExecutor(5) as pool:
        cache = ReportCache(build, pool.submit)
        visits = [pool.submit(cache.load, 1, days=30, at=NOW) for _ in range(4)]
        go_on.set()
        assert len({id(visit.result(PATIENCE_S)) for visit in visits}) == 1
    assert built == [1]


def test_who_waits_for_a_report_that_fails_is_told_and_the_next_visitor_tries_again():
    outcomes = iter([ValueError("away"), None])

    def build(team, days, at):
        if error := next(outcomes):
            raise error

    cache = ReportCache(build, do_now)
    with pytest.raises(ValueError, match="away"):
        cache.load(1, days=30, at=NOW)
    assert cache.load(1, days=30, at=NOW).built_at == NOW
