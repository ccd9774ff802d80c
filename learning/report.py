"""Reports what a team's predictions have shown; blocking."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from execution.store import agreements, run_speed, speculations
from execution.store.run_speed import RunSpeed
from learning import metrics
from learning.calibration import CalibrationMap
from learning.metrics import CalibrationFigures, IntentFigures, NextCallFigures
from learning.predictions import calibrations
from learning.store import activity, totals
from learning.store.activity import CallCounts, ThresholdCounts
from learning.store.totals import TotalRow

_MS_PER_S: Final = 1_000.0
MAX_PREDICTIONS: Final = 20_000
"""Newest predictions of whole workflows that a report is computed from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgreementFigures:
    """How results made ahead compared with those of real calls, since counting began.

    Attributes:
        served_tools: Tools that have earned that their results are served.
        ended_tools: Tools that are not served because a result was different.
    """

    agreed: int
    disagreed: int
    served_tools: int
    ended_tools: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningReport:
    """What a team's predictions have shown.

    Attributes:
        since: Beginning of the time reported.
        waiting: Predictions without an outcome yet.
        shadow_intents: Whole workflows that were only predicted.
        agreements: Results made ahead, compared with those of real calls.
    """

    since: datetime
    waiting: int
    intents: IntentFigures
    shadow_intents: IntentFigures
    next_calls: NextCallFigures
    shadow_next_calls: NextCallFigures
    calibration: CalibrationFigures
    correction: CalibrationMap
    speed: RunSpeed
    thresholds: ThresholdCounts
    agreements: AgreementFigures

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, with the goals of its figures."""
        found = dataclasses.asdict(self)
        reliability = [one._asdict() for one in self.calibration.reliability]
        return {
            **found,
            "since": self.since.isoformat(),
            "goals": {
                "success": metrics.SUCCESS_GOAL,
                "acceptance": metrics.ACCEPTANCE_GOAL,
                "waste": metrics.WASTE_LIMIT,
            },
            "speed": {**self.speed._asdict(), "speed_up": self.speed.speed_up},
            "thresholds": self.thresholds._asdict(),
            "calibration": {**found["calibration"], "reliability": reliability},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Activity:
    """What clients did lately, and the time that was saved.

    Attributes:
        days: Calls of each day, oldest first; days without any are left out.
        saved_ahead_s: Time that calls made ahead saved.
        saved_parallel_s: Time that runs saved by making calls at the same time.
        runs: Runs of several calls that the latter is from.
    """

    days: tuple[CallCounts, ...]
    total: CallCounts
    saved_ahead_s: float
    saved_parallel_s: float
    runs: int

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "days": [
                {**one._asdict(), "day": one.day.isoformat() if one.day else None}
                for one in self.days
            ],
            "calls": self.total.calls,
            "errors": self.total.errors,
            "p95_ms": self.total.p95_ms,
            "saved_ahead_s": self.saved_ahead_s,
            "saved_parallel_s": self.saved_parallel_s,
            "runs": self.runs,
        }


def build_activity(team: int | None, *, days: int, at: datetime, is_all: bool = False) -> Activity:
    """Return what clients did lately; cheap enough for every visit of a page."""
    since = at.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)
    by_day, total = activity.load_call_counts(team, since=since, is_all=is_all)
    speed = run_speed.load_run_speed(team, since=since, is_all=is_all)
    return Activity(
        days=by_day,
        total=total,
        saved_ahead_s=totals.load_saved_ms(team, since=since.date(), is_all=is_all) / _MS_PER_S,
        saved_parallel_s=max(0.0, speed.task_ms - speed.wall_ms) / _MS_PER_S,
        runs=speed.runs,
    )


def build_report(
    team: int | None, *, days: int, at: datetime, token_price: float | None
) -> LearningReport:
    """Return what a team's predictions have shown.

    Args:
        team: Primary key; None: callers without a team.
        days: Number of days reported.
        at: Current time.
        token_price: US dollars per million tokens that a model writes; None: unknown.
    """
    since = at - timedelta(days=days)
    resolved = speculations.load_resolved(team, limit=MAX_PREDICTIONS, since=since)
    prices = totals.load_prices({tool for one in resolved for tool in one.tools})
    rows = totals.load_totals(team, since=since.date())
    calls = activity.count_calls(team, since=since, at=at)

    def measure_intents(*, was_run: bool) -> IntentFigures:
        return metrics.measure_intents(
            resolved, prices=prices, token_price=token_price, was_run=was_run
        )

    return LearningReport(
        since=since,
        waiting=speculations.count_open(team),
        intents=measure_intents(was_run=True),
        shadow_intents=measure_intents(was_run=False),
        next_calls=_measure_next_calls(rows, calls, was_run=True),
        shadow_next_calls=_measure_next_calls(rows, calls, was_run=False),
        calibration=metrics.measure_calibration(resolved),
        correction=calibrations.fit_team(team),
        speed=run_speed.load_run_speed(team, since=since),
        thresholds=activity.count_thresholds(team),
        agreements=_count_agreements(team),
    )


def _count_agreements(team: int | None) -> AgreementFigures:
    counts = [one for key, one in agreements.load_agreements().items() if key.team == team]
    return AgreementFigures(
        agreed=sum(one.agreed for one in counts),
        disagreed=sum(one.disagreed for one in counts),
        served_tools=sum(one.has_earned for one in counts),
        ended_tools=sum(one.disagreed > 0 for one in counts),
    )


def _measure_next_calls(
    rows: Sequence[TotalRow], calls: int | None, *, was_run: bool
) -> NextCallFigures:
    chosen = [row for row in rows if row.form == totals.NEXT_CALL and row.is_shadow is not was_run]
    if not was_run:
        return metrics.measure_next_calls(chosen, calls=calls)
    return metrics.measure_next_calls(chosen, calls=calls, budget=1.0)
