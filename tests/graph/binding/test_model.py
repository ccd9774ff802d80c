from __future__ import annotations

import numpy as np
import pytest

from graph.binding import model
from graph.binding.features import NAMES, grid
from graph.binding.model import (
    BindingModel,
    as_json,
    choices,
    fit_binding,
    fit_prior,
    from_json,
    sample,
    shipped,
)
from graph.intent import reading
from tests.graph.binding.tools import steps, text, tool

INTENT = "book a table for Ada at Luigi"
FIELDS = {"guest": text(), "place": text()}


def test_probabilities_of_each_parameter_sum_to_one() -> None:
    compared = grid(steps(tool(FIELDS)), reading=reading.read(INTENT))
    likely = shipped().probabilities(compared)
    assert likely.shape == (2, len(compared.stated.values) + 1)
    assert np.allclose(likely.sum(axis=1), 1)
    assert not likely[:, :-1][~compared.possible].any()


def test_the_shipped_model_knows_every_feature() -> None:
    assert len(shipped().coefficients) == len(NAMES)
    assert (shipped().scale > 0).all()
    assert np.count_nonzero(shipped().coefficients) > 0.8 * len(NAMES)


def test_a_model_is_kept_as_it_was() -> None:
    again = BindingModel.from_bytes(shipped().to_bytes())
    assert np.array_equal(again.coefficients, shipped().coefficients)
    written = from_json(as_json(shipped()))
    assert np.allclose(written.coefficients, shipped().coefficients, atol=1e-3)


def test_a_sample_is_no_model() -> None:
    made = sample(steps(tool(FIELDS)), given={}, reading=reading.read(INTENT))
    with pytest.raises(ValueError, match="fit it again"):
        BindingModel.from_bytes(made)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04broken"])
def test_a_model_that_cannot_be_read_says_what_to_do(content: bytes) -> None:
    with pytest.raises(ValueError, match="fit it again"):
        BindingModel.from_bytes(content)


def test_a_sample_holds_nothing_of_the_intent() -> None:
    made = sample(
        steps(tool(FIELDS)), given={"t0": {"guest": "Ada"}}, reading=reading.read(INTENT)
    )
    assert b"Ada" not in made
    assert len(made) < 20_000


def test_what_was_given_and_stated_is_what_was_chosen() -> None:
    read = reading.read(INTENT)
    guest, place = choices(steps(tool(FIELDS)), given={"t0": {"guest": "Ada"}}, reading=read)
    assert guest[1][-1] == 0
    assert guest[1].sum() == pytest.approx(1)
    assert place[1][-1] == 1


def test_a_fit_moves_towards_what_runs_show() -> None:
    made, read = steps(tool(FIELDS, required=["guest"])), reading.read(INTENT)
    before = shipped().probabilities(grid(made, reading=read))[0]
    column = [one.text for one in grid(made, reading=read).stated.values].index("Ada")
    runs = [sample(made, given={"t0": {"guest": "Ada"}}, reading=read)] * 30
    fitted = fit_binding(runs, prior=shipped())
    after = fitted.probabilities(grid(made, reading=read))[0]
    assert after[column] > before[column]


def test_without_runs_a_fit_is_the_prior() -> None:
    fitted = fit_binding([b"unreadable"], prior=shipped())
    assert np.array_equal(fitted.coefficients, shipped().coefficients)


def test_a_prior_is_fitted_from_choices_alone() -> None:
    read = reading.read(INTENT)
    groups = choices(steps(tool(FIELDS)), given={"t0": {"guest": "Ada"}}, reading=read)
    made = fit_prior([groups, groups * 9], l2=3.0, largest=10)
    assert made.coefficients.shape == (len(NAMES),)
    assert np.isfinite(made.coefficients).all()


def test_rivals_are_picked_by_the_model_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "RIVALS", 1)
    made, read = steps(tool({"guest": text()})), reading.read(INTENT)
    values = grid(made, reading=read).stated.values
    against = BindingModel(coefficients=-shipped().coefficients, scale=shipped().scale)
    ((usual, _),) = choices(made, given={}, reading=read)
    ((other, _),) = choices(made, given={}, reading=read, model=against)
    assert len(values) > 2
    assert not np.array_equal(usual, other)
    assert sample(made, given={}, reading=read) != sample(
        made, given={}, reading=read, model=against
    )
