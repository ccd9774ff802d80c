"""Keeps the learning reports of teams for a moment: each is computed from many rows."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from learning import report
from learning.report import LearningReport

MAX_AGE: Final = timedelta(seconds=30)
"""Oldest report that is shown; its page says how old it is."""

Build = Callable[[int | None, int, datetime], LearningReport]


@dataclass(frozen=True, kw_only=True)
class DatedReport:
    """A report, and the time of its figures."""

    report: LearningReport
    built_at: datetime


class ReportCache:
    """The newest report of each team and number of days; may be used from any thread.

    One visitor builds a report while others who want the same wait for it.

    Args:
        build: Builds the report of a team over a number of days, as of a time.
    """

    def __init__(self, build: Build) -> None:
        self._build = build
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
                known = DatedReport(report=self._build(team, days, at), built_at=at)
                self._reports[key] = known
            return known

    def clear(self) -> None:
        """Forget all reports."""
        self._reports.clear()


def _build_report(team: int | None, days: int, at: datetime) -> LearningReport:
    token_price = settings.FOREGATE.token_price
    return report.build_report(team, days=days, at=at, token_price=token_price)


REPORTS: Final = ReportCache(_build_report)
"""The reports that this process shows."""
