"""The adaptive policy: bounds, monotony, leaning on wider levels, drift and suspension."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.thresholds.adaptive import AdaptivePolicy, estimate_tails
from learning.thresholds.counts import CELLS
from learning.thresholds.policy import (
    INITIAL_THRESHOLD,
    MAX_THRESHOLD,
    MIN_THRESHOLD,
    EvidenceLevel,
    Preset,
)
from tests.learning.thresholds.resolved import FOREIGN, KEY, SIBLING, observe, resolved, stream

POLICY = AdaptivePolicy()
CONSTANT = AdaptivePolicy(half_life=1e12, fall_deviations=1e9, rise_deviations=1e9)
"""Forgets nothing and ignores drift, so that order does not matter."""


STEP = 0.02
"""A threshold moves by this at most in ten outcomes."""


def estimate(predictions, *, policy=POLICY, presets=None, key=KEY):
    return observe(policy.start(presets or {}), predictions).estimate(key)


def counts(outcomes):
    successes, totals = [0.0] * CELLS, [0.0] * CELLS
    for cell, succeeded in outcomes:
        totals[cell] += 1.0
        successes[cell] += succeeded
    return successes, totals


OUTCOMES = st.lists(st.tuples(st.integers(50, CELLS - 1), st.booleans()), max_size=60)
PREDICTIONS = st.lists(
    st.builds(
        resolved,
        st.floats(0.0, 1.0),
        succeeded=st.booleans(),
        weight=st.sampled_from([0.5, 1.0]),
        key=st.sampled_from([KEY, SIBLING, FOREIGN]),
    ),
    max_size=60,
)


def test_without_evidence_it_is_the_initial_threshold():
    found = estimate([])
    assert found.threshold == INITIAL_THRESHOLD
    assert (found.level, found.is_converged, found.is_suspended) == (
        EvidenceLevel.NONE, False, False,
    )  # fmt: skip


@given(PREDICTIONS)
@settings(max_examples=60, deadline=None)
def test_the_threshold_is_always_within_bounds(predictions):
    for key in (KEY, SIBLING, FOREIGN):
        assert MIN_THRESHOLD <= estimate(predictions, key=key).threshold <= MAX_THRESHOLD


@given(OUTCOMES, OUTCOMES, st.data())
@settings(max_examples=80, deadline=None)
def test_a_success_that_becomes_a_failure_never_lowers_the_threshold(own, others, data):
    successes = [place for place, (_, succeeded) in enumerate(own) if succeeded]
    if not successes:
        return
    worse = list(own)
    for place in data.draw(st.sets(st.sampled_from(successes), min_size=1)):
        worse[place] = (own[place][0], False)

    def find_lowest(outcomes):
        everything = counts([*others, *outcomes])
        tails = estimate_tails([everything, everything, counts(outcomes)], POLICY)
        bounds = [one.success - POLICY.caution * one.deviation for one in tails]
        return next((n for n in range(70, 96) if bounds[n] >= POLICY.target), CELLS)

    assert find_lowest(worse) >= find_lowest(own)


@given(
    st.lists(
        st.builds(
            resolved,
            st.floats(0.0, 1.0),
            weight=st.sampled_from([0.5, 1.0]),
            key=st.sampled_from([KEY, SIBLING, FOREIGN]),
        ),
        max_size=120,
    ),
    st.sampled_from([{}, {KEY.domain: Preset(initial=0.80)}]),
)
@settings(max_examples=40, deadline=None)
def test_successes_alone_never_raise_a_threshold(predictions, presets):
    tracker = POLICY.start(presets)
    before = {key: tracker.estimate(key) for key in (KEY, SIBLING, FOREIGN)}
    for one in predictions:
        tracker.observe(one)
        for key, earlier in before.items():
            now = tracker.estimate(key)
            assert now.threshold <= earlier.threshold
            assert not now.is_suspended
            before[key] = now


@given(st.lists(st.tuples(st.sampled_from([0.6, 0.8, 0.93, 0.99]), st.booleans()), max_size=80))
@settings(max_examples=40, deadline=None)
def test_ten_outcomes_move_a_threshold_by_a_small_step_and_only_their_way(outcomes):
    tracker = POLICY.start({})
    path = [tracker.estimate(KEY).threshold]
    for confidence, succeeded in outcomes:
        tracker.observe(resolved(confidence, succeeded=succeeded))
        path.append(tracker.estimate(KEY).threshold)
    for place in range(len(path)):
        last = min(place + 10, len(path) - 1)
        assert abs(path[last] - path[place]) <= STEP + 1e-9
        between = {succeeded for _, succeeded in outcomes[max(0, place - 5) : last]}
        assert path[last] <= path[place] or False in between
        assert path[last] >= path[place] or True in between


def test_two_implicit_outcomes_count_as_one_explicit_outcome():
    once = [resolved(0.8)] * 100
    twice = [resolved(0.8, weight=0.5)] * 200
    found, same = (estimate(one, policy=CONSTANT) for one in (once, twice))
    assert found.sample_weight == pytest.approx(same.sample_weight)
    assert estimate(twice[:100], policy=CONSTANT).threshold >= found.threshold


def test_calibrated_predictions_lower_it_towards_the_best_fixed_threshold():
    found = estimate(stream(400, lambda confidence: confidence))
    assert 0.76 <= found.threshold <= 0.87  # spread evenly, 0.80 reaches the target exactly
    assert found.level is EvidenceLevel.CONTEXT
    assert found.expected_success >= POLICY.target


def test_overconfident_predictions_raise_it():
    assert estimate(stream(400, lambda confidence: confidence**3)).threshold > INITIAL_THRESHOLD


def test_speculation_is_suspended_where_nothing_reaches_the_target_and_resumes_afterwards():
    bad = stream(200, lambda _confidence: 0.5)
    found = estimate(bad)
    assert found.is_suspended
    assert found.threshold == MAX_THRESHOLD
    assert not estimate([*bad, *stream(200, lambda _confidence: 1.0, seed=2)]).is_suspended


def test_a_sparse_context_leans_on_its_domain_then_on_the_team():
    good = stream(200, lambda _confidence: 0.99)
    sibling, foreign = (estimate(good, key=key) for key in (SIBLING, FOREIGN))
    assert sibling.threshold < INITIAL_THRESHOLD
    assert foreign.threshold < INITIAL_THRESHOLD
    assert (sibling.level, foreign.level) == (EvidenceLevel.DOMAIN, EvidenceLevel.TEAM)
    assert not sibling.is_converged


def test_it_recovers_from_an_abrupt_drift():
    good = stream(600, lambda _confidence: 0.98)
    bad = stream(150, lambda confidence: confidence**3, seed=2)
    forgetful, constant = (estimate([*good, *bad], policy=policy) for policy in (POLICY, CONSTANT))
    assert constant.threshold < 0.8
    assert forgetful.threshold > 0.9


def test_it_converges_within_thirty_outcomes_and_stays_there():
    predictions = [resolved(0.93, succeeded=number % 10 != 9) for number in range(200)]
    assert not estimate(predictions[:19]).is_converged
    path = [estimate(predictions[:count]) for count in range(30, 200, 10)]
    assert path[0].is_converged
    assert max(one.threshold for one in path) - min(one.threshold for one in path) <= 2 * STEP


def test_a_waste_budget_is_a_target_on_chances():
    policy = AdaptivePolicy(target=0.5, least_confidence=0.0, drift_tails=(0.0, 0.3))
    presets = {KEY.domain: Preset(initial=0.5, lowest=0.0, highest=1.0)}
    predictions = stream(1_000, lambda confidence: confidence - 0.4)
    found = estimate(predictions, policy=policy, presets=presets)
    used = [one.succeeded for one in predictions if one.confidence >= found.threshold]
    assert 0.7 <= found.threshold <= 0.9
    assert sum(used) / len(used) >= 0.48
