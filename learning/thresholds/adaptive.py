"""The default policy: the lowest threshold at which enough predictions very likely succeed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from learning.memory.context import ContextKey
from learning.prediction import ResolvedPrediction
from learning.thresholds.counts import CELLS, DecayedCounts, find_cell
from learning.thresholds.offset import (
    Offset,
    Tail,
    describe_tails,
    find_initial_offset,
    fit_offset,
)
from learning.thresholds.policy import (
    DEFAULT_PRESET,
    INITIAL_THRESHOLD,
    RICH_WEIGHT,
    TARGET_SUCCESS,
    EvidenceLevel,
    Preset,
    Presets,
    ThresholdEstimate,
)

MIN_WEIGHT: Final = 1e-3
"""Less is left of forgotten outcomes, or of rounding, and not fitted."""
UNIFORM_WEIGHT: Final = 0.3
"""Of each cell beside the confidences seen, so that no tail is empty."""
MAX_INHERITED_WEIGHT: Final = 20.0
"""Of the confidences of wider levels beside a context's own."""
STEP_INTERVAL: Final = 5
"""Outcomes of a level after which its threshold may move, by one cell: 0.02 in ten outcomes."""
FIRST_MOVE: Final = 10
"""Outcomes below which a domain or a context has the threshold of the wider level."""
CONVERGED_STEPS: Final = 4
"""A threshold has converged if it has moved by one cell at most in that many intervals, and the
evidence points no further than one cell away: after 20 outcomes at the earliest."""
REFERENCE_INTERVAL: Final = 10
"""Outcomes after which the reference of drift detection is fitted anew."""
CHECK_INTERVAL: Final = 2
"""Outcomes after which drift is looked for."""
MIN_RECENT_WEIGHT: Final = 12.0
"""Recent outcomes below which drift cannot be told from chance."""
OLD_FACTOR: Final = 1.0
"""Older outcomes must weigh at least this many times what recent ones do."""
MIN_VARIANCE: Final = 0.02
"""Of one outcome, when recent ones are compared with the reference."""

CellCounts = tuple[Sequence[float], Sequence[float]]
"""Successes and totals in each cell."""


@dataclass(frozen=True, kw_only=True)
class AdaptivePolicy:
    """Estimates success from pooled evidence, and takes the lowest threshold that is good enough.

    How over- or underconfident predictions are is one offset in log-odds. It is estimated for the
    team, then for the domain, then for the context, each with what is known of the wider level as
    its prior; a sparse context therefore leans on its domain, and that on the team. With it, the
    expected success of all predictions at or above each threshold follows, with a lower bound.
    The threshold moves step by step towards the lowest whose bound reaches the target: only
    failures raise it, and only successes lower it. If no threshold is expected to reach the
    target, speculation is suspended at once. Drift is met by forgetting old outcomes slowly, and
    at once where recent ones contradict them. The constants were chosen by simulation
    (`python -m benchmarks thresholds`), on seeds and generators that are not those reported.

    Attributes:
        target: Share of successes aimed at; for prefetch, 1 - the waste budget.
        caution: Standard deviations between the expected success and its lower bound.
        slack: Deviations more than `caution` that the bound needs to lower a threshold, and fewer
            that it needs not to raise it; so that it does not follow chance.
        prior_deviation: Standard deviation of the offset before any outcome.
        level_deviation: Standard deviation of the offset of a level around that of the wider one.
        misfit_weight: Weight of outcomes at which a departure from the fitted curve counts half.
        half_life: Outcomes after which one counts half.
        recent_half_life: The same among those that are compared to detect drift.
        fall_deviations: Fall in success, in standard deviations, taken for drift.
        rise_deviations: Rise in success taken for drift; greater, since a rise is no danger.
        least_confidence: Predictions of less confidence are ignored; they say little of those at
            a threshold.
        drift_tails: Confidences above which drift is looked for.
    """

    target: float = TARGET_SUCCESS
    caution: float = 0.5
    slack: float = 0.5
    prior_deviation: float = 0.3
    level_deviation: float = 0.15
    misfit_weight: float = 50.0
    half_life: float = 1_500.0
    recent_half_life: float = 25.0
    fall_deviations: float = 2.4
    rise_deviations: float = 3.5
    least_confidence: float = 0.5
    drift_tails: tuple[float, ...] = (0.70, 0.85)
    name: str = "adaptive"

    def start(self, presets: Presets) -> AdaptiveTracker:
        """Return a tracker that has seen nothing yet."""
        return AdaptiveTracker(self, presets)

    def find_prior(self, initial: float) -> Offset:
        """Return what is assumed of the offset before any outcome."""
        return find_initial_offset(
            initial,
            target=self.target,
            caution=self.caution,
            deviation=self.prior_deviation,
        )


class _Level:
    """Outcomes of a team, a domain or a context, and the threshold that they have led to.

    Forgets old outcomes when they drift.

    Attributes:
        cell: Cell at which its threshold begins; None: too few outcomes, that of the wider level
            applies.
        is_suspended: Whether no threshold reaches the target.
        has_converged: Whether more evidence of the same kind would hardly move the threshold.
    """

    def __init__(self, policy: AdaptivePolicy, *, moves_after: int = FIRST_MOVE) -> None:
        self._policy = policy
        self._moves_after = moves_after
        self.counts = DecayedCounts(0.5 ** (1.0 / policy.half_life))
        self.cell: int | None = None
        self.is_suspended = False
        self.has_converged = False
        self._recent = DecayedCounts(0.5 ** (1.0 / policy.recent_half_life))
        self._expected: list[float] = []
        self._seen = 0
        self._unused: list[bool] = []
        self._last_cells: deque[int] = deque(maxlen=CONVERGED_STEPS + 1)

    def add(self, cell: int, prediction: ResolvedPrediction) -> None:
        """Count an outcome."""
        for counts in (self.counts, self._recent):
            counts.add(cell, succeeded=prediction.succeeded, weight=prediction.weight)
        self._unused.append(prediction.succeeded)
        self._seen += 1
        if self._seen % CHECK_INTERVAL == 0 and self._has_drifted():
            self.counts.replace(self._recent)
            self._expected = []
        if self._seen % REFERENCE_INTERVAL == 0:
            reference = fit_offset(
                self._policy.find_prior(INITIAL_THRESHOLD),
                self.counts.successes,
                self.counts.totals,
            )
            self._expected = reference.expected_successes()

    @property
    def may_move(self) -> bool:
        """Whether there are enough outcomes since the threshold could move last."""
        return len(self._unused) >= STEP_INTERVAL and self._seen >= self._moves_after

    def move(self, lowest: int | None, highest: int | None, *, start: int, limit: int) -> None:
        """Take the wider level's threshold, or move one cell towards where the evidence points.

        Only failures raise a threshold, and only successes lower it.

        Args:
            lowest: Least cell that the evidence allows; None: no threshold reaches the target.
            highest: Greatest cell that the evidence demands; None: likewise.
            start: Cell of the wider level.
            limit: Greatest cell there may be.
        """
        has_failed, has_succeeded = not all(self._unused), any(self._unused)
        self._unused.clear()
        if lowest is None and has_failed:
            self.is_suspended = True
        elif highest is not None and has_succeeded:
            self.is_suspended = False
        low = limit if lowest is None else lowest
        high = limit if highest is None else highest
        if self.cell is None:
            self.cell = start
        elif self.cell < low and has_failed:
            self.cell += 1
        elif self.cell > high and has_succeeded:
            self.cell -= 1
        self._last_cells.append(self.cell)
        self.has_converged = (
            len(self._last_cells) > CONVERGED_STEPS
            and max(self._last_cells) - min(self._last_cells) <= 1
            and low - 1 <= self.cell <= high + 1
        )

    def _has_drifted(self) -> bool:
        """Return whether recent outcomes contradict the older ones at some tail."""
        if not self._expected:
            return False
        policy = self._policy
        lowest = min(map(find_cell, policy.drift_tails))
        recent = self._recent.read_from(lowest)
        older = _subtract_counts(self.counts.read_from(lowest), recent)
        expected = self._expected[lowest:]
        for tail in policy.drift_tails:
            first = find_cell(tail) - lowest
            now, before = (_sum_tail(one, expected, first) for one in (recent, older))
            if now.weight < MIN_RECENT_WEIGHT or before.weight < OLD_FACTOR * now.weight:
                continue
            share = now.weight / before.weight
            change = now.surplus - share * before.surplus
            # Weights that halve exponentially: their squares sum to about two thirds of them.
            deviation = math.sqrt(now.variance / 1.5 + share**2 * before.variance)
            if not -policy.fall_deviations <= change / deviation <= policy.rise_deviations:
                return True
        return False


class _TailSum(NamedTuple):
    """Outcomes at or above a confidence.

    Attributes:
        weight: Of all of them.
        surplus: Weight of successes beyond the expected.
        variance: Of the number of successes.
    """

    weight: float
    surplus: float
    variance: float


def _sum_tail(counts: CellCounts, expected: Sequence[float], first: int) -> _TailSum:
    weight = surplus = variance = 0.0
    successes, totals = counts
    for success, total, chance in zip(
        successes[first:], totals[first:], expected[first:], strict=True
    ):
        weight += total
        surplus += success - total * chance
        variance += total * chance * (1.0 - chance)
    return _TailSum(weight, surplus, max(variance, MIN_VARIANCE * weight))


class AdaptiveTracker:
    """Evidence of a team, its domains and their contexts. For one thread at a time."""

    def __init__(self, policy: AdaptivePolicy, presets: Presets) -> None:
        self._policy = policy
        self._presets = presets
        self._team = _Level(policy, moves_after=STEP_INTERVAL)
        self._domains: dict[int, _Level] = {}
        self._contexts: dict[int, _Level] = {}

    def observe(self, prediction: ResolvedPrediction) -> None:
        """Count it at each of its levels, and move their thresholds where they may move.

        Predictions come in the order in which they were resolved.
        """
        if prediction.confidence < self._policy.least_confidence:
            return
        cell = find_cell(prediction.confidence)
        key = prediction.context
        levels = (
            self._team,
            self._domains.setdefault(key.domain, _Level(self._policy)),
            self._contexts.setdefault(key.context, _Level(self._policy)),
        )
        for level in levels:
            level.add(cell, prediction)
        for depth, level in enumerate(levels, start=1):
            if level.may_move:
                unseen = [_Level(self._policy)] * (len(levels) - depth)
                preset = self._presets.get(key.domain) if depth > 1 else None
                self._move([*levels[:depth], *unseen], level, preset)

    def _move(self, levels: Sequence[_Level], level: _Level, preset: Preset | None) -> None:
        policy, bounds = self._policy, preset or DEFAULT_PRESET
        tails = self._estimate_tails(levels, preset)
        level.move(
            _find_lowest(tails, policy, bounds, caution=policy.caution - policy.slack),
            _find_lowest(tails, policy, bounds, caution=policy.caution + policy.slack),
            start=_find_cell_in_force(levels, preset),
            limit=round(bounds.highest * CELLS),
        )

    def estimate(self, key: ContextKey) -> ThresholdEstimate:
        """Return the threshold of a context, with the evidence of it and of the wider levels."""
        preset = self._presets.get(key.domain)
        levels = (
            self._team,
            self._domains.get(key.domain, _Level(self._policy)),
            self._contexts.get(key.context, _Level(self._policy)),
        )
        cell = _find_cell_in_force(levels, preset)
        tail = self._estimate_tails(levels, preset)[min(cell, CELLS - 1)]
        level, weight = _choose_level([sum(one.counts.totals) for one in levels])
        narrowest = _find_narrowest(levels, preset)
        return ThresholdEstimate(
            threshold=cell / CELLS,
            is_suspended=narrowest is not None and narrowest.is_suspended,
            sample_weight=weight,
            expected_success=_to_probability(tail.success),
            success_bound=_to_probability(tail.success - self._policy.caution * tail.deviation),
            level=level,
            is_converged=levels[-1].has_converged,
        )

    def _estimate_tails(self, levels: Sequence[_Level], preset: Preset | None) -> list[Tail]:
        counts = [(one.counts.successes, one.counts.totals) for one in levels]
        return estimate_tails(counts, self._policy, preset or DEFAULT_PRESET)


def _find_narrowest(levels: Sequence[_Level], preset: Preset | None) -> _Level | None:
    """Return the narrowest level that has a threshold; a preset goes before that of the team."""
    found = [one for one in levels[preset is not None :] if one.cell is not None]
    return found[-1] if found else None


def _find_cell_in_force(levels: Sequence[_Level], preset: Preset | None) -> int:
    narrowest = _find_narrowest(levels, preset)
    if narrowest is None or narrowest.cell is None:
        return round((preset or DEFAULT_PRESET).initial * CELLS)
    return narrowest.cell


def estimate_tails(
    levels: Sequence[CellCounts], policy: AdaptivePolicy, preset: Preset = DEFAULT_PRESET
) -> list[Tail]:
    """Return the success at or above each cell in the narrowest level.

    A success that becomes a failure never raises any of them, or its lower bound.

    Args:
        levels: Counts of the team, the domain and the context; each includes the next.
        policy: Target and constants.
        preset: Start and bounds.
    """
    offset = policy.find_prior(preset.initial)
    has_evidence = False
    weights = [UNIFORM_WEIGHT] * CELLS
    for number, counts in enumerate(levels):
        if has_evidence:
            offset = offset.widen(policy.level_deviation**2)
        own = _subtract_counts(counts, levels[number + 1]) if number + 1 < len(levels) else counts
        successes, totals = own
        if sum(totals) >= MIN_WEIGHT:
            has_evidence = True
            offset = fit_offset(offset, successes, totals)
            share = min(1.0, MAX_INHERITED_WEIGHT / sum(weights))
            weights = [share * wide + narrow for wide, narrow in zip(weights, totals, strict=True)]
    return _correct_misfit(
        describe_tails(offset, weights), offset, levels[-1], weight=policy.misfit_weight
    )


def _subtract_counts(wide: CellCounts, narrow: CellCounts) -> CellCounts:
    """Return the counts of a level without those of a narrower one in it.

    Otherwise the same outcomes would count more than once. Each level forgets at its own pace, so
    the difference is kept from becoming negative.
    """
    totals = [max(0.0, n - own) for n, own in zip(wide[1], narrow[1], strict=True)]
    successes = [
        min(n, max(0.0, s - own)) for n, s, own in zip(totals, wide[0], narrow[0], strict=True)
    ]
    return successes, totals


def _correct_misfit(
    tails: Sequence[Tail], offset: Offset, own: CellCounts, *, weight: float
) -> list[Tail]:
    """Add to each tail what its own outcomes depart from the fitted curve, shrunk."""
    corrected = list(tails)
    surplus = total = 0.0
    expected = offset.expected_successes()
    successes, totals = own
    for cell in reversed(range(CELLS)):
        surplus += successes[cell] - totals[cell] * expected[cell]
        total += totals[cell]
        tail = tails[cell]
        corrected[cell] = Tail(tail.success + surplus / (total + weight), tail.deviation)
    return corrected


def _find_lowest(
    tails: Sequence[Tail], policy: AdaptivePolicy, preset: Preset, *, caution: float
) -> int | None:
    """Return the cell at which the lowest acceptable threshold begins; None: there is none."""
    first, last = round(preset.lowest * CELLS), round(preset.highest * CELLS)
    for cell in range(first, min(last, CELLS - 1) + 1):
        if tails[cell].success - caution * tails[cell].deviation >= policy.target:
            return cell
    return None


def _choose_level(weights: Sequence[float]) -> tuple[EvidenceLevel, float]:
    """Return the narrowest level with enough evidence, and the weight of its evidence."""
    names = (EvidenceLevel.TEAM, EvidenceLevel.DOMAIN, EvidenceLevel.CONTEXT)
    for name, weight in reversed(list(zip(names, weights, strict=True))):
        if weight >= RICH_WEIGHT:
            return name, weight
    return EvidenceLevel.NONE, weights[0]


def _to_probability(share: float) -> float:
    return max(0.0, min(1.0, share))
