from __future__ import annotations

import numpy as np
import pytest

from benchmarks import fit_plan

SLOPE = 3.0


def draw(
    level: float, centre: float, plans: int = 4_000
) -> tuple[fit_plan.Floats, fit_plan.Floats]:
    """Draw plans of a set whose measure is near a centre."""
    rng = np.random.default_rng(7)
    rows = rng.normal(centre, 0.5, (plans, 1))
    chances = 1 / (1 + np.exp(-(level + SLOPE * rows[:, 0])))
    return rows, (rng.random(plans) < chances).astype(np.float64)


def test_the_difference_between_two_sets_does_not_pass_for_the_effect_of_a_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fit_plan, "MAX_WEIGHT", 4_000)
    slope, level = fit_plan.fit([draw(2.0, -0.5), draw(-4.0, 0.5)])
    assert slope == pytest.approx(SLOPE, abs=0.3)
    assert level == pytest.approx(-1.0, abs=0.3)


def test_a_set_with_few_plans_has_no_say() -> None:
    sets = [draw(0.0, 0.0)]
    few = draw(5.0, 0.0, plans=fit_plan.MIN_PLANS - 1)
    assert fit_plan.fit([*sets, few]).tolist() == fit_plan.fit(sets).tolist()
