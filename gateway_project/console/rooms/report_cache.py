"""Keeps the learning reports of teams for a moment: each is computed from many rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connections

from gateway_project.api.problems import NotFound
from gateway_project.console.rooms.page import RoomRequest
from gateway_project.foundation.caller import SCOPE_ALL
from learning import report
from learning.report import LearningReport
from tools.store import teams

FRESH: Final = timedelta(seconds=30)
"""A report that is older is shown a last time, and built anew in the background."""
MAX_AGE: Final = timedelta(minutes=10)
"""Oldest report that is shown; its page says how old it is."""
PATIENCE_S: Final = 0.5
"""How long a visitor waits for a report before the page comes without it."""

log = structlog.get_logger(__name__)

Key = tuple[int | None, int]
"""Primary key of a team, or None, and the number of days reported."""
Build = Callable[[int | None, int, datetime], LearningReport]


@dataclass(frozen=True, kw_only=True)
class DatedReport:
    """A report, and the time of its figures."""

    report: LearningReport
    built_at: datetime


class ReportCache:
    """The newest report of each team and number of days; may be used from any thread.

    Reports are built in the background, each once for all who want it.

    Args:
        build: Builds the report of a team over a number of days, as of a time.
        start: Has something done in the background.
    """

    def __init__(self, build: Build, start: Callable[[Callable[[], None]], object]) -> None:
        self._build = build
        self._start = start
        self._lock = threading.Lock()
        self._reports: dict[Key, DatedReport] = {}
        self._building: dict[Key, Future[DatedReport]] = {}

    def load(self, team: int | None, *, days: int, at: datetime) -> DatedReport | None:
        """Return the report of a team, at most `MAX_AGE` old; None: it is still being built.

        Args:
            team: Primary key; None: callers without a team.
            days: Number of days reported.
            at: Current time.
        """
        key = (team, days)
        known = self._reports.get(key)
        if known is not None and at - known.built_at <= FRESH:
            return known
        building = self._join_building(key, at)
        if known is not None and at - known.built_at <= MAX_AGE:
            return known
        try:
            return building.result(PATIENCE_S)
        except TimeoutError:
            return None

    def _join_building(self, key: Key, at: datetime) -> Future[DatedReport]:
        with self._lock:
            building = self._building.get(key)
            if building is not None:
                return building
            building = self._building[key] = Future()
        self._start(partial(self._build_into, building, key, at))
        return building

    def _build_into(self, building: Future[DatedReport], key: Key, at: datetime) -> None:
        team, days = key
        try:
            dated = DatedReport(report=self._build(team, days, at), built_at=at)
        except Exception as error:
            # Top level of a thread. Those who wait get the error; the next visitor tries again.
            log.exception("console.report_failed", team=team)
            del self._building[key]
            building.set_exception(error)
        else:
            self._reports[key] = dated
            del self._building[key]
            building.set_result(dated)

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


def choose_owner(request: RoomRequest) -> tuple[int | None, dict[str, Any]]:
    """Return whose report a room shows, and what its form of teams needs.

    Superusers choose a team by its name; others see their own figures.

    Raises:
        NotFound: If the caller may not choose such a team.
    """
    caller = request.caller
    may_choose = caller.has_scope(SCOPE_ALL)
    names = dict(teams.select_teams().values_list("name", "pk")) if may_choose else {}
    team = request.GET.get("team", "")
    if team and team not in names:
        raise NotFound("such team")
    whose = f"team {team}" if team else "your team" if caller.team is not None else "your own"
    return (
        names[team] if team else caller.owner,
        {"team": team, "teams": sorted(names), "whose": whose},
    )
