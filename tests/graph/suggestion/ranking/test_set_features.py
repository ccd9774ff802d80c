import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.suggestion.ranking import set_evidence
from graph.suggestion.ranking.set_candidates import list_candidate_sets
from graph.suggestion.ranking.set_evidence import EVIDENCE_FEATURES as EVIDENCE
from graph.suggestion.ranking.set_features import (
    NO_OUTSIDER_LOGIT,
    SET_FEATURES,
    compute_set_features,
)
from graph.suggestion.ranking.set_history import SetHistory
from tests.graph.suggestion.ranking.drawn_runs import TOOLS, drawn_runs, drawn_scored, without_run


def told(scored, runs=None):
    """Return the features of each candidate set by name."""
    history = None if runs is None else SetHistory.from_runs(runs)
    found = list_candidate_sets(scored, history)
    rows = compute_set_features(scored, found, history)
    assert np.isfinite(rows).all()
    return {
        frozenset(found.tools_of_set(at, scored).tolist()): dict(
            zip(SET_FEATURES, row.tolist(), strict=True)
        )
        for at, row in enumerate(rows)
    }


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1_000), st.data())
def test_a_run_is_left_out_of_its_own_features(count, seed, data):
    runs = drawn_runs(count, seed)
    own = data.draw(st.integers(0, count - 1))
    scored = drawn_scored(seed, past=count, own_run=own)
    left_out, rest = without_run(scored, runs)
    as_past, as_new = told(scored, runs), told(left_out, rest)
    assert as_past.keys() == as_new.keys()
    for members, features in as_new.items():
        assert as_past[members] == pytest.approx(features, abs=1e-4)


@pytest.mark.parametrize("cells", [1, 100, 1_000])
def test_features_do_not_depend_on_how_many_sets_are_compared_at_a_time(monkeypatch, cells):
    scored, runs = drawn_scored(past=40), drawn_runs(40, 0)
    at_once = told(scored, runs)
    monkeypatch.setattr(set_evidence, "BLOCK_CELLS", cells)
    in_blocks = told(scored, runs)
    assert in_blocks.keys() == at_once.keys()
    for members, features in at_once.items():
        assert in_blocks[members] == pytest.approx(features, abs=1e-5)


def test_the_only_run_of_a_history_is_no_evidence_for_itself():
    scored = drawn_scored(past=1, own_run=0)
    for features in told(scored, [TOOLS[:2]]).values():
        said = [
            features[name]
            for name in (
                "is_known",
                "log_set_runs",
                "set_similarity",
                "set_votes",
                "expected_f1",
                "log_supersets",
            )
        ]
        assert said == [0] * 6


def test_without_history_its_features_are_zero():
    for features in told(drawn_scored()).values():
        assert [features[name] for name in EVIDENCE] == [0] * len(EVIDENCE)


def test_features_of_the_tools_of_a_set():
    scored = drawn_scored()
    logits = dict(zip(TOOLS, scored.logits, strict=True))
    for members, features in told(scored).items():
        rest = [logits[tool] for tool in TOOLS if tool not in members]
        top = sorted(TOOLS, key=lambda tool: -logits[tool])[:8]
        left = max(logits[tool] for tool in top if tool not in members)
        lowest = min(logits[tool] for tool in members)
        assert features["log_odds"] == pytest.approx(
            sum(logits[tool] for tool in members), abs=1e-4
        )
        assert features["lowest_inside"] == pytest.approx(lowest, abs=1e-5)
        assert features["highest_outside"] == pytest.approx(left, abs=1e-5)
        assert features["inside_lead"] == pytest.approx(lowest - left, abs=1e-5)
        assert max(rest) >= left


def test_a_set_of_all_tools_has_a_very_unlikely_outsider():
    assert (
        told(drawn_scored(tools=(1, 2)))[frozenset({1, 2})]["highest_outside"] == NO_OUTSIDER_LOGIT
    )


def test_sizes_are_one_hot():
    for members, features in told(drawn_scored(), None).items():
        sizes = [features[f"size_{size}"] for size in range(1, 6)]
        assert sizes == [float(size == min(len(members), 5)) for size in range(1, 6)]


def test_features_of_the_clauses_a_set_covers():
    cosines = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], dtype=np.float32)
    shares = np.exp((cosines - 0.9) / 0.08)
    scored = drawn_scored(
        tools=(1, 2, 3),
        clause_count=2,
        clause_cosines=cosines,
        clause_shares=shares,
        sentence_count=2,
        length=99,
    )
    features = told(scored)
    both, one = features[frozenset({1, 2})], features[frozenset({1})]
    assert both["clause_cover"] == pytest.approx((shares[0, 0] + shares[1, 1]) / 2)
    assert both["least_cover"] == pytest.approx(shares[1, 1])
    assert both["cover_per_tool"] == pytest.approx((shares[0, 0] + shares[1, 1]) / 2)
    assert (both["winners_per_tool"], one["winners_per_tool"]) == (1, 1)
    assert features[frozenset({1, 3})]["winners_per_tool"] == 1
    assert features[frozenset({1, 2, 3})]["winners_per_tool"] == pytest.approx(2 / 3)
    assert (both["clause_distance"], one["clause_distance"], one["sentence_distance"]) == (
        0,
        -1,
        -1,
    )
    assert features[frozenset({1, 2, 3})]["length_by_size"] == pytest.approx(math.log(100) / 4)


def test_features_of_pairs_of_tools():
    vectors = np.eye(3, 8, dtype=np.float32)
    vectors[2] = vectors[0]
    scored = drawn_scored(tools=(1, 2, 3), vectors=vectors, servers=np.array([5, 5, 6]))
    features = told(scored)
    assert features[frozenset({1, 3})]["pair_cosine"] == pytest.approx(1)
    assert features[frozenset({1, 2, 3})]["pair_cosine"] == pytest.approx(1 / 3)
    assert features[frozenset({1, 2})]["same_server"] == 1
    assert features[frozenset({1, 3})]["same_server"] == 0


RUNS = [(1, 2), (2, 1), (1, 2, 3), (4,)]
NEAR = np.array([0.9, 0.7, 0.5, 0.1], dtype=np.float32)


def features_of_runs():
    scored = drawn_scored(tools=(1, 2, 3, 4), past=4, similarity=NEAR, predicted_size=2.5)
    return told(scored, RUNS)


def votes():
    worth = np.exp((NEAR.astype(float) - 0.9) / 0.08)
    return worth / worth.sum()


def test_a_known_set_has_its_run_count_and_similarity():
    features = features_of_runs()
    known, unknown = features[frozenset({1, 2})], features[frozenset({1, 3})]
    assert known["is_known"] == 1
    assert known["log_set_runs"] == pytest.approx(math.log(3))
    assert known["set_similarity"] == pytest.approx(0.9)
    assert known["set_votes"] == pytest.approx(votes()[:2].sum(), abs=1e-6)
    assert [
        unknown[name] for name in ("is_known", "log_set_runs", "set_similarity", "set_votes")
    ] == [0, 0, 0, 0]


def test_runs_that_had_all_of_a_set_are_counted():
    features = features_of_runs()
    assert features[frozenset({1, 2})]["log_supersets"] == pytest.approx(math.log(4))
    assert features[frozenset({1, 2})]["set_closure"] == pytest.approx(2.5 / 4)
    assert features[frozenset({1, 3})]["set_closure"] == pytest.approx(0.5 / 2)
    assert (
        features[frozenset({1, 4})]["never_together"],
        features[frozenset({1, 2})]["never_together"],
    ) == (1, 0)


def test_expected_f1_is_over_the_votes_of_similar_runs():
    f1 = [2 * len({1, 2} & set(run)) / (2 + len(run)) for run in RUNS]
    expected = features_of_runs()[frozenset({1, 2})]["expected_f1"]
    assert expected == pytest.approx(votes() @ f1, abs=1e-5)


def test_mutual_information_is_the_mean_over_pairs():
    together, alone = {(1, 2): 3, (1, 3): 1, (2, 3): 1}, {1: 3, 2: 3, 3: 1}
    pairs = [
        math.log((together[a, b] + 0.3) / ((alone[a] + 1) * (alone[b] + 1) / 5 + 0.3))
        for a, b in combinations((1, 2, 3), 2)
    ]
    told_pmi = features_of_runs()[frozenset({1, 2, 3})]["mutual_information"]
    assert told_pmi == pytest.approx(sum(pairs) / 3, abs=1e-5)


def test_sizes_near_the_predicted_and_the_usual_are_likelier():
    features = features_of_runs()
    two, three, four = (features[frozenset(range(1, n + 1))] for n in (2, 3, 4))
    assert (
        two["predicted_distance"],
        three["predicted_distance"],
        four["predicted_distance"],
    ) == (-0.5, -0.5, -1.5)
    assert two["log_size_share"] > three["log_size_share"] > four["log_size_share"]
