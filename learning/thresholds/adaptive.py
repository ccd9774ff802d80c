"""The default policy: the lowest threshold at which enough predictions very likely succeed."""

from __future__ import annotations

import math
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
    ThresholdTracker,
)

MIN_WEIGHT: Final = 1e-3
"""Less is left of forgotten outcomes, or of rounding, and not fitted."""
UNIFORM_WEIGHT: Final = 0.3
"""Of each cell beside the confidences seen, so that no tail is empty."""
MAX_INHERITED_WEIGHT: Final = 20.0
"""Of the confidences of wider levels beside a context's own."""
CONVERGED_CAUTION: Final = 1.5
CONVERGED_DISTANCE: Final = 0.03
"""A threshold has converged if that much more caution would raise it by no more than this."""
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
    The lowest threshold whose bound reaches the target is taken; if none does, speculation is
    suspended. Drift is met by forgetting old outcomes slowly, and at once where recent ones
    contradict them. The constants were chosen by simulation (`python -m benchmarks thresholds`),
    on seeds and generators that are not those reported.

    Attributes:
        target: Share of successes aimed at; for prefetch, 1 - the waste budget.
        caution: Standard deviations between the expected success and its lower bound.
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
        name: Name, as stored with its thresholds.
    """

    target: float = TARGET_SUCCESS
    caution: float = 0.5
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

    def start(self, presets: Presets) -> ThresholdTracker:
        """Return a tracker that has seen nothing yet."""
        return _AdaptiveTracker(self, presets)

    def find_prior(self, initial: float) -> Offset:
        """Return what is assumed of the offset before any outcome."""
        return find_initial_offset(
            initial,
            target=self.target,
            caution=self.caution,
            deviation=self.prior_deviation,
        )


class _Level:
    """Outcomes of a team, a domain or a context; forgets the old ones when they drift."""

    def __init__(self, policy: AdaptivePolicy) -> None:
        self._policy = policy
        self.counts = DecayedCounts(0.5 ** (1.0 / policy.half_life))
        self._recent = DecayedCounts(0.5 ** (1.0 / policy.recent_half_life))
        self._expected: list[float] = []
        self._seen = 0

    def add(self, cell: int, prediction: ResolvedPrediction) -> None:
        """Count an outcome."""
        for counts in (self.counts, self._recent):
            counts.add(cell, succeeded=prediction.succeeded, weight=prediction.weight)
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


class _AdaptiveTracker:
    """Evidence of a team, its domains and their contexts."""

    def __init__(self, policy: AdaptivePolicy, presets: Presets) -> None:
        self._policy = policy
        self._presets = presets
        self._team = _Level(policy)
        self._domains: dict[int, _Level] = {}
        self._contexts: dict[int, _Level] = {}

    def observe(self, prediction: ResolvedPrediction) -> None:
        """Count it at each of its levels."""
        if prediction.confidence < self._policy.least_confidence:
            return
        cell = find_cell(prediction.confidence)
        key = prediction.context
        for levels, level_key in ((self._domains, key.domain), (self._contexts, key.context)):
            if level_key not in levels:
                levels[level_key] = _Level(self._policy)
            levels[level_key].add(cell, prediction)
        self._team.add(cell, prediction)

    def estimate(self, key: ContextKey) -> ThresholdEstimate:
        """Return the threshold of a context, from its evidence and that of the wider levels."""
        policy = self._policy
        preset = self._presets.get(key.domain, DEFAULT_PRESET)
        empty = _Level(policy)
        levels = (
            self._team.counts,
            self._domains.get(key.domain, empty).counts,
            self._contexts.get(key.context, empty).counts,
        )
        return choose_threshold([(one.successes, one.totals) for one in levels], policy, preset)


def choose_threshold(
    levels: Sequence[CellCounts],
    policy: AdaptivePolicy,
    preset: Preset = DEFAULT_PRESET,
) -> ThresholdEstimate:
    """Return the threshold that the evidence justifies.

    A success that becomes a failure never lowers it.

    Args:
        levels: Counts of the team, the domain and the context; each includes the next.
        policy: Target and constants.
        preset: Start and bounds.
    """
    tails = _estimate_tails(levels, policy, preset)
    chosen = _find_lowest(tails, policy, preset, caution=policy.caution)
    total_weights = [sum(totals) for _, totals in levels]
    level, weight = _choose_level(total_weights)
    is_suspended = chosen is None
    cell = round(preset.highest * CELLS) if chosen is None else chosen
    tail = tails[min(cell, CELLS - 1)]
    return ThresholdEstimate(
        threshold=preset.clamp(cell / CELLS),
        is_suspended=is_suspended,
        sample_weight=weight,
        expected_success=_to_probability(tail.success),
        success_bound=_to_probability(tail.success - policy.caution * tail.deviation),
        level=level,
        is_converged=level is EvidenceLevel.CONTEXT
        and _is_converged(tails, policy, preset, chosen),
    )


def _estimate_tails(
    levels: Sequence[CellCounts], policy: AdaptivePolicy, preset: Preset
) -> list[Tail]:
    """Return the success at or above each cell in the narrowest level."""
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


def _is_converged(
    tails: Sequence[Tail], policy: AdaptivePolicy, preset: Preset, chosen: int | None
) -> bool:
    cautious = _find_lowest(tails, policy, preset, caution=policy.caution + CONVERGED_CAUTION)
    if chosen is None or cautious is None:
        return chosen is cautious
    return (cautious - chosen) / CELLS <= CONVERGED_DISTANCE


def _choose_level(weights: Sequence[float]) -> tuple[EvidenceLevel, float]:
    """Return the narrowest level with enough evidence, and the weight of its evidence."""
    names = (EvidenceLevel.TEAM, EvidenceLevel.DOMAIN, EvidenceLevel.CONTEXT)
    for name, weight in reversed(list(zip(names, weights, strict=True))):
        if weight >= RICH_WEIGHT:
            return name, weight
    return EvidenceLevel.NONE, weights[0]


def _to_probability(share: float) -> float:
    return max(0.0, min(1.0, share))
