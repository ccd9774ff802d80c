from dataclasses import replace

import numpy as np
import pytest

from graph.suggestion.ranking import prior, set_model
from graph.suggestion.ranking.choice import choice_probabilities
from graph.suggestion.ranking.set_candidates import CandidateSets
from graph.suggestion.ranking.set_features import SET_FEATURES
from graph.suggestion.ranking.set_history import SetHistory
from graph.suggestion.ranking.set_model import SetChoices, SetExample
from tests.graph.suggestion.ranking.drawn_runs import TOOLS, drawn_runs, drawn_scored

SETS = prior.load_prior().sets


def choices(members, likely, f1_share):
    rows = np.array(members, dtype=np.float32)
    found = CandidateSets(columns=np.arange(rows.shape[1]), members=rows, sizes=rows.sum(axis=1))
    return SetChoices(
        candidates=found,
        probabilities=np.array(likely),
        similarities=np.zeros(len(rows)),
        f1_share=f1_share,
    )


OVERLAPPING = [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]


def test_the_likeliest_set_is_chosen_if_only_exactness_counts():
    assert choices(OVERLAPPING, [0.3, 0.3, 0.4], 0.0).select_best_first(1) == [2]


def test_a_set_that_overlaps_with_likely_ones_is_chosen_if_f1_counts():
    assert choices(OVERLAPPING, [0.31, 0.29, 0.4], 1.0).select_best_first(1) == [0]


def test_alternatives_follow_by_probability():
    assert choices(OVERLAPPING, [0.31, 0.29, 0.4], 1.0).select_best_first(4) == [0, 2, 1]
    assert choices(OVERLAPPING, [0.31, 0.29, 0.4], 1.0).select_best_first(2) == [0, 2]


def examples(count=30, seed=0):
    """Make examples of past runs whose tools are the likeliest of all."""
    runs, scored = [], []
    for own in range(count):
        one = drawn_scored(seed + own, past=count, own_run=own)
        scored.append(one)
        runs.append(tuple(one.tools[np.argsort(-one.logits)[:2]].tolist()))
    history = SetHistory.from_runs(runs)
    made = [
        set_model.make_example(one, history, frozenset(run))
        for one, run in zip(scored, runs, strict=True)
    ]
    return made, history


def test_an_example_knows_which_candidate_the_run_called():
    scored = drawn_scored(past=1, own_run=0)
    likeliest = frozenset(scored.tools[np.argsort(-scored.logits)[:3]].tolist())
    made = set_model.make_example(scored, SetHistory.from_runs([tuple(likeliest)]), likeliest)
    assert frozenset(made.candidates.tools_of_set(made.chosen_index, scored).tolist()) == likeliest
    assert (
        set_model.make_example(
            scored, SetHistory.from_runs([(999,)]), frozenset({999})
        ).chosen_index
        is None
    )


def test_without_examples_the_prior_is_the_model():
    model = set_model.fit_set_model((), prior=SETS, runs=0)
    assert (
        model.coefficients.tolist()
        == SETS.select_features(SET_FEATURES).coefficients_at(0).tolist()
    )
    assert model.f1_share == 1.0


def test_fitting_makes_what_runs_called_likelier():
    made, _ = examples()
    fitted = set_model.fit_set_model(made, prior=SETS, runs=len(made))
    before = set_model.fit_set_model((), prior=SETS, runs=len(made))
    chance = [
        np.mean(
            [
                choice_probabilities(one.rows, it.coefficients, it.scales)[one.chosen_index]
                for one in made
            ]
        )
        for it in (before, fitted)
    ]
    assert chance[1] > 1.1 * chance[0]


def test_examples_whose_set_is_no_candidate_teach_nothing():
    made, _ = examples(8)
    lost = [
        SetExample(candidates=one.candidates, rows=one.rows, chosen_index=None) for one in made
    ]
    model = set_model.fit_set_model(lost, prior=SETS, runs=8)
    assert (
        model.coefficients.tolist()
        == SETS.select_features(SET_FEATURES).coefficients_at(8).tolist()
    )


@pytest.mark.parametrize(
    ("runs", "f1_share"), [(0, 1.0), (19, 1.0), (20, 0.8), (49, 0.8), (50, 0.6)]
)
def test_more_runs_give_exactness_more_weight(runs, f1_share):
    assert set_model.fit_set_model((), prior=SETS, runs=runs).f1_share == f1_share


def test_the_prior_holds_more_strongly_with_few_runs():
    made, _ = examples(12)
    moved = [
        np.abs(
            set_model.fit_set_model(made, prior=SETS, runs=runs).coefficients
            - SETS.select_features(SET_FEATURES).coefficients_at(runs)
        ).sum()
        for runs in (9, 29, 31)
    ]
    assert moved == sorted(moved)


def test_each_run_is_judged_by_a_model_that_did_not_see_it(monkeypatch):
    made, _ = examples(11)
    fitted = set_model.fit_set_model
    seen = []

    def note(rest, **fields):
        seen.append({id(one) for one in rest})
        return fitted(rest, **fields)

    def check(one, model):
        assert id(one) not in seen[-1]
        assert one.intent not in {own.intent for own in made if id(own) in seen[-1]}
        return 0.5, 0.4, True

    monkeypatch.setattr(set_model, "fit_set_model", note)
    monkeypatch.setattr(set_model, "judge_choice", check)
    made += [replace(one, repeats=3) for one in made[:4]]
    judged = set_model.cross_validate_choices(made, prior=SETS, runs=11, seed=3)
    assert judged.probabilities.tolist() == [0.5] * 15
    assert judged.similarities.tolist() == [0.4] * 15
    assert judged.was_right.tolist() == [1.0] * 15
    assert judged.repeats.tolist() == [0] * 11 + [3] * 4
    assert sum(len(made) - len(rest) for rest in seen) == 15


def test_repeats_teach_as_often_as_they_ran():
    made, _ = examples(8)
    thrice = set_model.fit_set_model([*made, replace(made[0], repeats=3)], prior=SETS, runs=8)
    copies = set_model.fit_set_model([*made, *[made[0]] * 3], prior=SETS, runs=8)
    assert thrice.coefficients == pytest.approx(copies.coefficients)


def test_the_similarity_of_the_nearest_run_of_a_set_is_reported():
    scored = drawn_scored(past=3)
    runs = [TOOLS[:7], TOOLS[:7], TOOLS[1:3]]
    model = set_model.fit_set_model((), prior=SETS, runs=3)
    found = model.list_choices(scored, SetHistory.from_runs(runs))
    told = {
        frozenset(found.candidates.tools_of_set(at, scored).tolist()): float(similarity)
        for at, similarity in enumerate(found.similarities)
        if similarity
    }
    assert told[frozenset(TOOLS[:7])] == pytest.approx(scored.similarity[:2].max())
    assert set(told) <= {frozenset(TOOLS[:7]), frozenset(TOOLS[1:3])}


def test_probabilities_of_an_intent_sum_to_one():
    runs = drawn_runs(20)
    model = set_model.fit_set_model((), prior=SETS, runs=20)
    found = model.list_choices(drawn_scored(past=20), SetHistory.from_runs(runs))
    assert found.probabilities.sum() == pytest.approx(1)
