from dataclasses import replace

import numpy as np
import pytest

from graph.suggestion.ranking import prior, set_model
from graph.suggestion.ranking.set_candidates import CandidateSets
from graph.suggestion.ranking.set_history import SetHistory
from graph.suggestion.ranking.set_model import SetChoices
from tests.graph.suggestion.ranking.drawn_runs import drawn_scored

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


def test_a_set_that_overlaps_with_likely_ones_is_chosen_if_f1_counts():
    assert choices(OVERLAPPING, [0.31, 0.29, 0.4], 1.0).select_best_first(1) == [0]


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


@pytest.mark.parametrize(
    ("runs", "f1_share"), [(0, 1.0), (19, 1.0), (20, 0.8), (49, 0.8), (50, 0.6)]
)
def test_more_runs_give_exactness_more_weight(runs, f1_share):
    assert set_model.fit_set_model((), prior=SETS, runs=runs).f1_share == f1_share


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
