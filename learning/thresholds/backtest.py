"""Replays resolved predictions under a policy: what it would have speculated, how well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from learning.prediction import ResolvedPrediction
from learning.thresholds.adaptive import AdaptiveTracker
from learning.thresholds.named import COMPARED_POLICIES, ThresholdPolicy, make_policy
from learning.thresholds.policy import FixedPolicy, Presets, ThresholdEstimate

SEGMENTS: Final = 20
"""Parts of the history whose mean thresholds make the path."""
PATH_SHOWN: Final = 5
"""Thresholds of the path that a table shows, evenly spread."""


@dataclass(frozen=True, kw_only=True)
class BacktestReport:
    """What a policy would have done with a history.

    All shares count predictions by their weight.

    Attributes:
        speculated: Number that it would have speculated.
        coverage: Share of the predictions that it would have speculated, in [0, 1].
        success: Share of those that were right; None: it would have speculated nothing.
        waste: Share of those that were wrong; None likewise.
        saved_ms: Milliseconds saved by those that were right.
        path: Mean threshold in each of up to `SEGMENTS` equal parts of the history, oldest first;
            None where speculation was suspended throughout.
    """

    policy: str
    predictions: int
    speculated: int
    coverage: float
    success: float | None
    waste: float | None
    saved_ms: float
    path: tuple[float | None, ...]


@dataclass
class _Totals:
    weight: float = 0.0
    speculated: int = 0
    speculated_weight: float = 0.0
    success_weight: float = 0.0
    saved_ms: float = 0.0
    thresholds: list[float | None] = field(default_factory=list)


def replay(
    history: Sequence[ResolvedPrediction],
    policy: ThresholdPolicy,
    *,
    presets: Presets,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> BacktestReport:
    """Replay a history, in the order in which predictions were resolved.

    Each is judged by the threshold that its predecessors justify; teams learn apart.
    """
    totals = _Totals()
    trackers: dict[int | None, AdaptiveTracker | FixedPolicy] = {}
    ordered = sorted(history, key=lambda one: one.at)
    for number, one in enumerate(ordered, start=1):
        if one.team not in trackers:
            trackers[one.team] = policy.start(presets)
        _judge(one, trackers[one.team].estimate(one.context), totals)
        trackers[one.team].observe(one)
        on_progress(number, len(ordered))
    return _build_report(policy.name, totals, len(ordered))


def compare_policies(
    history: Sequence[ResolvedPrediction], names: Sequence[str], *, presets: Presets
) -> list[BacktestReport]:
    """Replay a history under each of some policies.

    Args:
        history: Resolved predictions, in any order.
        names: Names of policies, as many as `COMPARED_POLICIES` at most; empty: these.
        presets: Presets by hash of the domain.

    Raises:
        ValueError: If there is no policy of a name, or there are too many.
    """
    if len(names) > len(COMPARED_POLICIES):
        raise ValueError(f"{len(COMPARED_POLICIES)} at most")
    policies = [make_policy(name) for name in names or COMPARED_POLICIES]
    return [replay(history, policy, presets=presets) for policy in policies]


def format_path(path: Sequence[float | None]) -> str:
    """Return thresholds over time in short.

    Example:
        >>> format_path([0.92, None, 0.9])
        '0.92 off 0.90'
    """
    step = max(1, (len(path) - 1) // (PATH_SHOWN - 1))
    shown = [*path[:-1:step][: PATH_SHOWN - 1], *path[-1:]]
    return " ".join("off" if one is None else f"{one:.2f}" for one in shown)


def report_to_json(report: BacktestReport) -> Mapping[str, object]:
    """Return a report as JSON values, with rounded shares."""
    return {
        "policy": report.policy,
        "predictions": report.predictions,
        "speculated": report.speculated,
        "coverage": round(report.coverage, 4),
        "success": None if report.success is None else round(report.success, 4),
        "waste": None if report.waste is None else round(report.waste, 4),
        "saved_ms": round(report.saved_ms, 1),
        "path": [None if one is None else round(one, 4) for one in report.path],
    }


def _judge(one: ResolvedPrediction, estimate: ThresholdEstimate, totals: _Totals) -> None:
    totals.weight += one.weight
    totals.thresholds.append(None if estimate.is_suspended else estimate.threshold)
    if not estimate.admits(one.confidence):
        return
    totals.speculated += 1
    totals.speculated_weight += one.weight
    if one.succeeded:
        totals.success_weight += one.weight
        totals.saved_ms += one.saves_ms


def _build_report(policy: str, totals: _Totals, count: int) -> BacktestReport:
    success = (
        totals.success_weight / totals.speculated_weight if totals.speculated_weight else None
    )
    return BacktestReport(
        policy=policy,
        predictions=count,
        speculated=totals.speculated,
        coverage=totals.speculated_weight / totals.weight if totals.weight else 0.0,
        success=success,
        waste=None if success is None else 1.0 - success,
        saved_ms=totals.saved_ms,
        path=_summarize_path(totals.thresholds),
    )


def _summarize_path(thresholds: Sequence[float | None]) -> tuple[float | None, ...]:
    parts = min(SEGMENTS, len(thresholds))
    borders = [len(thresholds) * part // parts for part in range(parts + 1)] if parts else []
    return tuple(
        _mean([one for one in thresholds[first:last] if one is not None])
        for first, last in pairwise(borders)
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
