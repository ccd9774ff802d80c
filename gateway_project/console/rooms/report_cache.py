"""Keeps the learning reports of teams for a moment: each is computed from many rows."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from django.db import connections

from learning import report
from learning.report import LearningReport

FRESH: Final = timedelta(seconds=30)
"""A report that is older is shown a last time, and built anew in the background."""
MAX_AGE: Final = timedelta(minutes=10)
"""Oldest report that is shown; its page says how old it is."""

log = structlog.get_logger(__name__)

Build = Callable[[int | None, int, datetime], LearningReport]


@dataclass(frozen=True, kw_only=True)
class DatedReport:
    """A report, and the time of its figures."""

    report: LearningReport
    built_at: datetime


class ReportCache:
    """The newest report of each team and number of days; may be used from any thread.

    Without one that may be shown, one visitor builds it while others who want the same wait.

    Args:
        build: Builds the report of a team over a number of days, as of a time.
        start: Has something done in the background.
    """

    def __init__(self, build: Build, start: Callable[[Callable[[], None]], object]) -> None:
        self._build = build
        self._start = start
        self._renewing: set[tuple[int | None, int]] = set()
        self._reports: dict[tuple[int | None, int], DatedReport] = {}
        self._building: defaultdict[tuple[int | None, int], threading.Lock] = defaultdict(
            threading.Lock
        )

    def load(self, team: int | None, *, days: int, at: datetime) -> DatedReport:
        """Return the report of a team, at most `MAX_AGE` old.

        Args:
            team: Primary key; None: callers without a team.
            days: Number of days reported.
            at: Current time.
        """
        key = (team, days)
        with self._building[key]:
            known = self._reports.get(key)
            if known is None or at - known.built_at > MAX_AGE:
                known = self._reports[key] = self._make(team, days, at)
            elif at - known.built_at > FRESH and key not in self._renewing:
                self._renewing.add(key)
                self._start(partial(self._renew, team, days, at))
            return known

    def _make(self, team: int | None, days: int, at: datetime) -> DatedReport:
        return DatedReport(report=self._build(team, days, at), built_at=at)

    def _renew(self, team: int | None, days: int, at: datetime) -> None:
        try:
            self._reports[team, days] = self._make(team, days, at)
        except Exception:
            # Top level of a thread. The next visitor tries again.
            log.exception("console.report_failed", team=team)
        finally:
            self._renewing.discard((team, days))

    def clear(self) -> None:
        """Forget all reports."""
        self._reports.clear()


def _build_report(team: int | None, days: int, at: datetime) -> LearningReport:
    token_price = settings.FOREGATE.token_price
    return report.build_report(team, days=days, at=at, token_price=token_price)


_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="learning report")


def _start_on_thread(work: Callable[[], None]) -> None:
    """Do something on the thread of reports, which keeps no connection afterwards."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    _thread.submit(run)


REPORTS: Final = ReportCache(_build_report, _start_on_thread)
"""The reports that this process shows."""
