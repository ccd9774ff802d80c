from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from benchmarks import fit_next_call
from graph.suggestion.next_call.chance import FEATURES, load_priors
from graph.suggestion.next_call.fitting import LabelledCandidates

LEADS = [FEATURES.index(name) for name in ("share_least", "is_newest", "shape_least")]


def make_set(lead: int, count: int = 200) -> SimpleNamespace:
    """Make a set whose candidates come by one feature alone, whatever the other two are."""
    rows = np.zeros((count, len(FEATURES)))
    for bit, feature in enumerate(LEADS):
        rows[:, feature] = np.arange(count) >> bit & 1
    came = rows[:, lead]
    labelled = LabelledCandidates(
        rows=rows, came=came, came_next=came, sessions=np.arange(count) // 10
    )
    return SimpleNamespace(cold=[labelled], planned=[labelled], learned=[labelled])


def test_sets_that_differ_do_not_shrink_the_chances_before_history(monkeypatch):
    monkeypatch.setattr(fit_next_call, "SET_WEIGHT", 200.0)
    sets = [make_set(lead) for lead in LEADS]

    priors = fit_next_call.fit_priors(sets)

    rows = sets[0].cold[0].rows
    cold, learned = (np.ptp(priors[name].ever.estimate(rows)) for name in ("cold", "learned"))
    assert cold > 2 * learned


def test_before_any_history_named_values_of_schemas_move_no_chance():
    cold = load_priors()["cold"]

    for chances in (cold.ever, cold.soon):
        assert dict(zip(FEATURES, chances.coefficients, strict=True))["schema_named"] == 0.0
