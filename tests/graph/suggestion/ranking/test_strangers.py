"""How far past runs are followed to wishes of another kind than theirs."""

import numpy as np
import pytest

from graph.suggestion.ranking import prior, strangers
from graph.suggestion.ranking.familiarity import fit_gate
from graph.suggestion.ranking.fit import fit_ranker
from graph.suggestion.ranking.past_intents import PastIntents
from tests.graph.suggestion.ranking.small_catalogue import habits, past, view

GATE = prior.load_prior().gate
KNOWN, NEW = np.array([0.7, 0.6, 0.9]), np.array([0.5, 0.2, 0.9])


def test_a_gate_learns_which_wishes_history_does_not_know():
    signals = np.array([KNOWN, NEW] * 100)
    fitted = fit_gate(signals, np.array([1.0, -1.0] * 100), prior=GATE)
    assert fitted.compute_familiarity(KNOWN) > 0.9
    assert fitted.compute_familiarity(NEW) < 0.3 < GATE.compute_familiarity(NEW)


def test_a_gate_stays_where_history_and_texts_are_right_alike():
    fitted = fit_gate(np.array([KNOWN, NEW]), np.zeros(2), prior=GATE)
    told = (fitted.level, *fitted.weights)
    assert told == pytest.approx((GATE.level, *GATE.weights))


def test_strangers_see_no_run_of_their_own_tools():
    kinds = [(11,), (12,), (21,), (22,), (31,), (32,)]
    wishes = [(f"{verb} {kind[0]}", kind) for kind in kinds for verb in ("do", "please do")]
    intents = PastIntents.from_intents(past(*wishes), view())
    asked = strangers.list_strangers(intents, view())
    assert sorted(map(sorted, (one.called for one in asked))) == sorted(
        sorted(tools) for _, tools in wishes
    )
    assert all(tuple(one.called) not in one.history.sets for one in asked)
    assert all(one.history.sets for one in asked)


def test_too_few_kinds_of_work_have_no_strangers():
    intents = PastIntents.from_intents(habits()[:3], view())
    assert strangers.list_strangers(intents, view()) == []
    assert fit_ranker(habits()[:3], view()).calibrator.stranger is None
