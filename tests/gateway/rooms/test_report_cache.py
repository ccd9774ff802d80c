"""Reports are computed once for all who look, and their age is bounded."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from gateway_project.console.rooms.report_cache import MAX_AGE, ReportCache
from tests.patience import PATIENCE_S

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_report_is_computed_anew_only_once_it_is_old():
    built = []
    cache = ReportCache(lambda team, days, at: built.append((team, days, at)))
    first = cache.load(1, days=30, at=NOW)
    assert cache.load(1, days=30, at=NOW + MAX_AGE) is first
    later = NOW + MAX_AGE + timedelta(seconds=1)
    assert cache.load(1, days=30, at=later).built_at == later
    assert built == [(1, 30, NOW), (1, 30, later)]


def test_teams_and_periods_have_reports_of_their_own():
    built = []
    cache = ReportCache(lambda team, days, _at: built.append((team, days)))
    for team, days in ((1, 30), (2, 30), (None, 30), (1, 90), (1, 30)):
        cache.load(team, days=days, at=NOW)
    assert built == [(1, 30), (2, 30), (None, 30), (1, 90)]


def test_visitors_at_the_same_time_wait_for_one_report():
    built, go_on = [], threading.Event()

    def build(team, days, at):
        built.append(team)
        assert go_on.wait(PATIENCE_S)

    cache = ReportCache(build)
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

    cache = ReportCache(build)
    with suppress(ValueError):
        cache.load(1, days=30, at=NOW)
    assert cache.load(1, days=30, at=NOW).built_at == NOW
