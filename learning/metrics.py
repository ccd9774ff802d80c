"""Figures of how predictions turned out, and what running them ahead would have gained."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from execution.mode import SUGGESTION_THRESHOLD
from execution.speculation.outcome import Outcome, ResolvedSpeculation
from learning.calibration import (
    JudgedConfidence,
    ReliabilityBin,
    brier_score,
    build_reliability,
    calibration_error,
)

if TYPE_CHECKING:
    from learning.store.totals import TotalRow

SUCCESS_GOAL: Final = 0.95
ACCEPTANCE_GOAL: Final = 0.90
WASTE_LIMIT: Final = 0.10
"""Of intents; next calls have a budget of their own."""
WASTE_BUDGET: Final = 0.5
"""Share of calls run ahead that may go unused, where a call costs nothing."""
MIN_SHOWN: Final = 20
"""Outcomes below which a share says next to nothing: its standard error is up to 11 points."""
TOP: Final = 10
DECILES: Final = 10
_PER_MILLION: Final = 1_000_000
_MS_PER_S: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class Share:
    """A share with the number that it is of.

    Attributes:
        value: In [0, 1]; None: too few outcomes to say.
        of: Number of outcomes.
    """

    value: float | None
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class IntentFigures:
    """How whole workflows were predicted.

    Attributes:
        outcomes: Number of predictions by outcome.
        acceptance: Share of suggestions, confident enough to be shown as such, that were right.
        success: Share of those run ahead whose calls all succeeded; of shadow predictions, that
            were right of those that would have been run ahead.
        waste: Share of these that were wrong or failed.
        failed: Number of those run ahead without success.
        mean_confidence: Of those run ahead, or that would have been; None: there are none.
        mean_execution_s: Seconds that running ahead took, failures included; None: nothing was.
        speed_up: Seconds until callers had the results by calls of their own, over those that
            running the same tools ahead took; None: one of the two is not measured.
        saved_s: Seconds that the right ones among them save.
        wasted_s: Seconds that the wrong and the failed ones took.
        tokens: Tokens that clients need not write for the right ones.
        saved_money: Price of these tokens in US dollars; None: no price is set.
        wasted_money: Price of the calls of the wrong ones; None: a price is unknown.
    """

    outcomes: Mapping[str, int]
    acceptance: Share
    success: Share
    waste: Share
    failed: int
    mean_confidence: float | None
    mean_execution_s: float | None
    speed_up: float | None
    saved_s: float
    wasted_s: float
    tokens: int
    saved_money: float | None
    wasted_money: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """What predicted next calls gain, or would gain, if run ahead from some chance on.

    Attributes:
        waste: Share of the others.
        saved_s: Seconds that the hits save.
        wasted_s: Seconds that the others take.
        wasted_money: Price of the others in US dollars; None: a price is unknown.
    """

    name: str
    predictions: int
    hits: int
    waste: Share
    saved_s: float
    wasted_s: float
    wasted_money: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NextCallFigures:
    """How next calls were predicted.

    Attributes:
        predictions: Number of predictions, whatever their chance.
        least_chance: Chance from which the waste stays within the budget; None: from none.
        total: Of the predictions from that chance on.
        servers: The same by server, the greatest saving first.
        tools: The same by tool.
        hit_rate: Share of the calls made that were predicted from that chance on.
    """

    predictions: int
    least_chance: float | None
    total: Gain
    servers: tuple[Gain, ...]
    tools: tuple[Gain, ...]
    hit_rate: Share


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationFigures:
    """How far stated confidences are from outcomes.

    Attributes:
        error: Expected calibration error; None: too few.
        brier: Brier score; None: too few.
        reliability: Bins of similar confidence.
    """

    samples: int
    error: float | None
    brier: float | None
    reliability: tuple[ReliabilityBin, ...]


def make_share(part: float, of: int) -> Share:
    """Return a share, without a value if it is of too few.

    Example:
        >>> make_share(19, 20), make_share(1, 2)
        (Share(value=0.95, of=20), Share(value=None, of=2))
    """
    return Share(part / of if of >= MIN_SHOWN else None, of)


def measure_intents(
    resolved: Sequence[ResolvedSpeculation],
    *,
    prices: Mapping[int, Decimal | None],
    token_price: float | None,
    was_run: bool,
) -> IntentFigures:
    """Measure predictions of whole workflows.

    Those count as run ahead that were, or, of shadow predictions, those that would have been:
    confident enough, and with all arguments known.

    Args:
        resolved: Resolved predictions of one team.
        prices: Price of a call of each tool, in US dollars.
        token_price: US dollars per million tokens; None: unknown.
        was_run: Whether to measure those that were run ahead, or the shadow ones.
    """
    chosen = [one for one in resolved if one.is_shadow is not was_run]
    judged = [one for one in chosen if one.says_of_tools]
    shown = [one for one in judged if one.confidence >= SUGGESTION_THRESHOLD]
    ahead = [one for one in chosen if was_run or (one.is_admitted and one.is_runnable)]
    right = [one for one in ahead if one.outcome is Outcome.HIT and not one.has_failed]
    wrong = [one for one in ahead if one.is_wasted]
    failed = sum(one.has_failed for one in ahead)
    took = [one.took_ms for one in ahead if one.took_ms is not None]
    tokens = sum(one.tokens or 0 for one in right)
    return IntentFigures(
        outcomes=dict(Counter(one.outcome.value for one in chosen)),
        acceptance=make_share(sum(one.outcome is Outcome.HIT for one in shown), len(shown)),
        success=make_share(len(ahead) - failed, len(ahead))
        if was_run
        else make_share(len(right), len(right) + len(wrong)),
        waste=make_share(len(wrong), len(ahead)),
        failed=failed,
        mean_confidence=_mean([one.confidence for one in ahead]),
        mean_execution_s=_mean([one / _MS_PER_S for one in took]),
        speed_up=_measure_speed_up(ahead, resolved) if was_run else None,
        saved_s=sum(one.saves_ms or 0.0 for one in right) / _MS_PER_S,
        wasted_s=sum(one.wasted_ms for one in wrong) / _MS_PER_S,
        tokens=tokens,
        saved_money=None if token_price is None else tokens * token_price / _PER_MILLION,
        wasted_money=_sum_money(prices.get(tool) for one in wrong for tool in one.tools),
    )


def measure_next_calls(
    rows: Sequence[TotalRow], *, calls: int | None, budget: float = WASTE_BUDGET
) -> NextCallFigures:
    """Measure predictions of next calls, from the least chance that keeps waste within a budget.

    Args:
        rows: Totals of next calls of one team, in one mode.
        calls: Calls made in the same time; None: unknown.
        budget: Share of predictions that may go unused.
    """
    least = _find_least_decile(rows, budget)
    chosen = [] if least is None else [row for row in rows if row.decile >= least]
    hits = sum(row.hits for row in chosen)
    return NextCallFigures(
        predictions=sum(row.predictions for row in rows),
        least_chance=None if least is None else least / DECILES,
        total=_sum_gain("", chosen),
        servers=_rank_gains(chosen, lambda row: row.server),
        tools=_rank_gains(chosen, lambda row: row.tool_id),
        hit_rate=Share(None, 0) if calls is None else make_share(min(hits, calls), calls),
    )


def measure_calibration(resolved: Iterable[ResolvedSpeculation]) -> CalibrationFigures:
    """Measure stated confidences against whether the suggested tools were the right ones."""
    judged = [
        JudgedConfidence(one.confidence, one.has_right_tools, one.weight)
        for one in resolved
        if one.says_of_tools
    ]
    reliability = build_reliability(judged)
    is_enough = len(judged) >= MIN_SHOWN
    return CalibrationFigures(
        samples=len(judged),
        error=calibration_error(reliability) if is_enough else None,
        brier=brier_score(judged) if is_enough else None,
        reliability=tuple(reliability) if is_enough else (),
    )


def _measure_speed_up(
    ahead: Iterable[ResolvedSpeculation], resolved: Iterable[ResolvedSpeculation]
) -> float | None:
    """Return how much sooner results came than by callers' own calls of the same tools."""
    own: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for one in resolved:
        if one.is_shadow and one.own_ms is not None:
            own[one.tools].append(one.own_ms)
    pairs = [
        (sum(own[one.tools]) / len(own[one.tools]), one.took_ms)
        for one in ahead
        if one.took_ms and not one.has_failed and one.tools in own
    ]
    return sum(before for before, _ in pairs) / sum(now for _, now in pairs) if pairs else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _find_least_decile(rows: Sequence[TotalRow], budget: float) -> int | None:
    for least in range(DECILES):
        predictions = sum(row.predictions for row in rows if row.decile >= least)
        wasted = sum(row.wasted for row in rows if row.decile >= least)
        if predictions and wasted <= budget * predictions:
            return least
    return None


def _rank_gains(rows: Iterable[TotalRow], name: Callable[[TotalRow], str]) -> tuple[Gain, ...]:
    grouped: dict[str, list[TotalRow]] = defaultdict(list)
    for row in rows:
        grouped[name(row)].append(row)
    gains = [_sum_gain(key, group) for key, group in grouped.items() if key]
    return tuple(sorted(gains, key=lambda gain: (-gain.saved_s, -gain.hits, gain.name))[:TOP])


def _sum_gain(name: str, rows: Sequence[TotalRow]) -> Gain:
    predictions = sum(row.predictions for row in rows)
    is_priced = not any(row.unpriced for row in rows)
    return Gain(
        name=name,
        predictions=predictions,
        hits=sum(row.hits for row in rows),
        waste=make_share(sum(row.wasted for row in rows), predictions),
        saved_s=sum(row.saved_ms for row in rows) / _MS_PER_S,
        wasted_s=sum(row.wasted_ms for row in rows) / _MS_PER_S,
        wasted_money=float(sum(row.cost for row in rows)) if is_priced else None,
    )


def _sum_money(prices: Iterable[Decimal | None]) -> float | None:
    total = Decimal(0)
    for price in prices:
        if price is None:
            return None
        total += price
    return float(total)
