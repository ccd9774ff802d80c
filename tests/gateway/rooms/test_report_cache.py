"""Reports are computed once for all who look, and their age is bounded."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta

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


def test_an_old_report_is_shown_a_last_time_and_computed_anew_once():
    built, background = [], Background()
    cache = ReportCache(lambda team, days, at: built.append(at), background.start)
    first = cache.load(1, days=30, at=NOW)
    assert cache.load(1, days=30, at=NOW + FRESH) is first
    assert not background.waiting
    later = NOW + FRESH + timedelta(seconds=1)
    assert cache.load(1, days=30, at=later) is first
    assert cache.load(1, days=30, at=later) is first
    assert len(background.waiting) == 1
    background.work()
    assert cache.load(1, days=30, at=later).built_at == later
    assert built == [NOW, later]


def test_a_very_old_report_is_not_shown():
    cache = ReportCache(lambda team, days, at: at, Background().start)
    cache.load(1, days=30, at=NOW)
    later = NOW + MAX_AGE + timedelta(seconds=1)
    assert cache.load(1, days=30, at=later).built_at == later


def test_a_report_that_fails_in_the_background_is_tried_again_at_the_next_visit():
    outcomes, background = iter([None, ValueError("away"), None]), Background()

    def build(team, days, at):
        if error := next(outcomes):
            raise error

    cache = ReportCache(build, background.start)
    cache.load(1, days=30, at=NOW)
    later = NOW + MAX_AGE
    for _ in range(2):
        assert cache.load(1, days=30, at=later).built_at == NOW
        background.work()
    assert cache.load(1, days=30, at=later).built_at == later


def test_teams_and_periods_have_reports_of_their_own():
    built = []
    cache = ReportCache(lambda team, days, _at: built.append((team, days)), Background().start)
    for team, days in ((1, 30), (2, 30), (None, 30), (1, 90), (1, 30)):
        cache.load(team, days=days, at=NOW)
    assert built == [(1, 30), (2, 30), (None, 30), (1, 90)]


def test_visitors_at_the_same_time_wait_for_one_report():
    built, go_on = [], threading.Event()

    def build(team, days, at):
        built.append(team)
        assert go_on.wait(PATIENCE_S)

    cache = ReportCache(build, Background().start)
    with ThreadPoolExecutor(4) as pool:
        visits = [pool.submit(cache.load, 1, days=30, at=NOW) for _ in range(4)]
        go_on.set()
        assert len({id(visit.result(PATIENCE_S)) for visit in visits}) == 1
    assert built == [1]


def test_a_report_that_failed_is_computed_at_the_next_visit():
    outcomes = iter([ValueError("away"), None])

    def build(team, days, at):
        if error := next(outcomes):
            raise error

    cache = ReportCache(build, Background().start)
    with suppress(ValueError):
        cache.load(1, days=30, at=NOW)
    assert cache.load(1, days=30, at=NOW).built_at == NOW
