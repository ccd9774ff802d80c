from __future__ import annotations

import numpy as np
import pytest

from graph.suggestion.binding import model
from graph.suggestion.binding.features import FEATURE_NAMES, compute_grid
from graph.suggestion.binding.model import (
    BindingModel,
    collect_choices,
    fit_binding,
    fit_prior,
    from_json,
    load_shipped_model,
    sample_training_rows,
    to_json,
)
from graph.suggestion.intent import reading
from tests.graph.suggestion.binding.tools import steps, text, tool

INTENT = "book a table for Ada at Luigi"
FIELDS = {"guest": text(), "place": text()}


def test_probabilities_of_each_parameter_sum_to_one() -> None:
    grid = compute_grid(steps(tool(FIELDS)), reading=reading.read_intent(INTENT))
    likely = load_shipped_model().predict_probabilities(grid)
    assert likely.shape == (2, len(grid.stated.values) + 1)
    assert np.allclose(likely.sum(axis=1), 1)
    assert not likely[:, :-1][~grid.possible].any()


def test_the_shipped_model_knows_every_feature() -> None:
    assert len(load_shipped_model().coefficients) == len(FEATURE_NAMES)
    assert (load_shipped_model().scale > 0).all()
    assert np.count_nonzero(load_shipped_model().coefficients) > 0.8 * len(FEATURE_NAMES)


def test_a_model_survives_serialization() -> None:
    again = BindingModel.from_bytes(load_shipped_model().to_bytes())
    assert np.array_equal(again.coefficients, load_shipped_model().coefficients)
    written = from_json(to_json(load_shipped_model()))
    assert np.allclose(written.coefficients, load_shipped_model().coefficients, atol=1e-3)


def test_a_sample_is_no_model() -> None:
    made = sample_training_rows(steps(tool(FIELDS)), given={}, reading=reading.read_intent(INTENT))
    with pytest.raises(ValueError, match="fit it again"):
        BindingModel.from_bytes(made)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04broken"])
def test_a_model_that_cannot_be_read_says_what_to_do(content: bytes) -> None:
    with pytest.raises(ValueError, match="fit it again"):
        BindingModel.from_bytes(content)


def test_a_sample_contains_no_text_of_the_intent() -> None:
    made = sample_training_rows(
        steps(tool(FIELDS)), given={"t0": {"guest": "Ada"}}, reading=reading.read_intent(INTENT)
    )
    assert b"Ada" not in made
    assert len(made) < 20_000


def test_stated_arguments_are_the_chosen_alternatives() -> None:
    read = reading.read_intent(INTENT)
    guest, place = collect_choices(
        steps(tool(FIELDS)), given={"t0": {"guest": "Ada"}}, reading=read
    )
    assert guest[1][-1] == 0
    assert guest[1].sum() == pytest.approx(1)
    assert place[1][-1] == 1


def test_a_fit_moves_towards_the_observed_runs() -> None:
    made, read = steps(tool(FIELDS, required=["guest"])), reading.read_intent(INTENT)
    before = load_shipped_model().predict_probabilities(compute_grid(made, reading=read))[0]
    column = [one.text for one in compute_grid(made, reading=read).stated.values].index("Ada")
    runs = [sample_training_rows(made, given={"t0": {"guest": "Ada"}}, reading=read)] * 30
    fitted = fit_binding(runs, prior=load_shipped_model())
    after = fitted.predict_probabilities(compute_grid(made, reading=read))[0]
    assert after[column] > before[column]


def test_a_run_with_many_arguments_moves_a_fit_as_little_as_one_with_few() -> None:
    read = reading.read_intent(INTENT)
    prior = load_shipped_model()

    def shift(count: int) -> float:
        made = steps(tool({f"guest{n}": {"type": "string"} for n in range(count)}))
        fitted = fit_binding([sample_training_rows(made, given={}, reading=read)] * 9, prior=prior)
        return float(np.abs(fitted.coefficients - prior.coefficients).max())

    assert 0 < shift(1) < shift(3)
    assert shift(30) == pytest.approx(shift(3), rel=0.3)


def test_without_runs_a_fit_is_the_prior() -> None:
    fitted = fit_binding([b"unreadable"], prior=load_shipped_model())
    assert np.array_equal(fitted.coefficients, load_shipped_model().coefficients)


def test_a_prior_is_fitted_from_choices_alone() -> None:
    read = reading.read_intent(INTENT)
    groups = collect_choices(steps(tool(FIELDS)), given={"t0": {"guest": "Ada"}}, reading=read)
    made = fit_prior([groups, groups * 9], l2=3.0, largest=10)
    assert made.coefficients.shape == (len(FEATURE_NAMES),)
    assert np.isfinite(made.coefficients).all()


def test_rivals_are_selected_by_the_passed_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MAX_RIVALS", 1)
    made, read = steps(tool({"guest": text()})), reading.read_intent(INTENT)
    values = compute_grid(made, reading=read).stated.values
    against = BindingModel(
        coefficients=-load_shipped_model().coefficients, scale=load_shipped_model().scale
    )
    ((usual, _),) = collect_choices(made, given={}, reading=read)
    ((other, _),) = collect_choices(made, given={}, reading=read, model=against)
    assert len(values) > 2
    assert not np.array_equal(usual, other)
    assert sample_training_rows(made, given={}, reading=read) != sample_training_rows(
        made, given={}, reading=read, model=against
    )
