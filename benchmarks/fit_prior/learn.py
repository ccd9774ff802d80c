"""Learns the prior of ranking on several sets, from histories of several sizes drawn from each.

For each size, each set contributes intents whose features leave out their own run, as in the
product's own fitting. The model of sets and the familiarity gate (`gate`) are learned on logits of
tool models whose prior comes from the other sets, as in a catalogue that was never seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_prior import gate
from benchmarks.fit_prior.gather import TrainingSet
from graph.suggestion.ranking import (
    calibrate,
    candidates,
    history_features,
    order,
    set_features,
    set_model,
)
from graph.suggestion.ranking.choice import ChoiceGroup, fit_choice
from graph.suggestion.ranking.logistic import fit_logistic
from graph.suggestion.ranking.past_intents import PastIntent, PastIntents
from graph.suggestion.ranking.prior import HISTORY_SIZES, LinearPrior, Prior
from graph.suggestion.ranking.set_history import SetHistory
from graph.suggestion.ranking.set_model import SetExample
from graph.suggestion.ranking.static_features import compare_intent
from graph.suggestion.ranking.tool_model import (
    FittedIntents,
    ToolModel,
    fit_tool_model,
    score_candidates,
)
from graph.suggestion.ranking.tool_view import ToolView

Floats = NDArray[np.float64]

PRECISION = 5.0
ORDER_PRECISION = 0.5
COUNTED = 300
"""Maximum number of intents that a set counts as, for each size, in the model of tools."""
DRAWN = 300
"""Intents in all histories of one size together; so histories of 150 are drawn twice."""
MOST_HISTORIES = 30
EXAMPLES = 150
"""Examples of a set and size, for the model of sets and its calibration."""
ORDER_AT, ORDER_HISTORIES, ORDER_PAIRS = 50, 2, 300
SCALE_ROWS = 4_000
SOFT_WIDTH, LEAST_F1 = 0.08, 0.6
"""Without history, every candidate set that overlaps with the right one counts as partly right,
by exp((F1 - 1) / 0.08); intents without a candidate of F1 above 0.6 are not used."""

ORDER_SCALES = np.array([1.5, 1.0, 1.5, 0.4])
_PLACES = [order.ORDER_FEATURES.index("clause_position")]


def learn(sets: Sequence[TrainingSet]) -> Prior:
    """Learn a prior on some sets; deterministic."""
    others = [_tools([other for other in sets if other is not one]) for one in sets]
    examples = {
        size: [_examples(one, known, size) for one, known in zip(sets, others, strict=True)]
        for size in HISTORY_SIZES
    }
    models = _set_models(examples)
    calibration = {size: _calibration(examples[size], models, size) for size in HISTORY_SIZES}
    order_model = _order(sets)
    strangers = [
        Prior(
            tools=others[place],
            sets=_set_models(_without(examples, place)),
            order=order_model,
            calibration=calibration,
            gate=gate.ALWAYS,
            learned_on=tuple(other.name for other in sets if other is not one),
        )
        for place, one in enumerate(sets)
    ]
    return Prior(
        tools=_tools(sets),
        sets=models,
        order=order_model,
        calibration=calibration,
        gate=gate.learn(sets, strangers),
        learned_on=tuple(sorted(one.name for one in sets)),
    )


# ---------------------------------------------------------------- tools


def histories(one: TrainingSet, size: int) -> Iterator[list[PastIntent]]:
    """Draw histories of a size from a set; none if it has too few queries."""
    if len(one.intents) < 1.05 * size:
        return
    for number in range(max(1, min(MOST_HISTORIES, DRAWN // size))):
        yield one.drawn(size, seed=7 * number + size)


@cache
def _rows(one: TrainingSet, size: int) -> tuple[Floats, Floats, int] | None:
    """Return the features and targets of a set's candidates, and the number of intents."""
    drawn = [list(one.intents)] if size == 0 else list(histories(one, size))
    if not drawn:
        return None
    made = [_describe(past, one.view, with_history=size > 0) for past in drawn]
    features = np.concatenate([rows for rows, _ in made])
    targets = np.concatenate([right for _, right in made])
    return features, targets, sum(len(past) for past in drawn)


def _describe(
    past: Sequence[PastIntent], view: ToolView, *, with_history: bool
) -> tuple[NDArray[np.float32], Floats]:
    """Return the features of all candidates, and 1 for each that the run called, else 0.

    Args:
        past: Intents whose tools are known.
        view: The tools.
        with_history: Whether each intent is described by the evidence of the others; if not,
            features of history are 0 and candidates are chosen without history.
    """
    if with_history:
        return FittedIntents(PastIntents.from_intents(past), view).stack_candidates()
    described = [
        candidates.describe_candidates(compare_intent(intent.encoded, view), None, None)
        for intent in past
    ]
    called = [
        np.isin(found.tools, intent.tools) for found, intent in zip(described, past, strict=True)
    ]
    rows = np.concatenate([found.features for found in described])
    return rows, np.concatenate(called).astype(np.float64)


def _tools(sets: Sequence[TrainingSet]) -> LinearPrior:
    sample = [
        made[0][:SCALE_ROWS]
        for one in sets
        for size in HISTORY_SIZES[1:]
        if (made := _rows(one, size)) is not None
    ]
    every = np.concatenate(sample).astype(np.float64)
    means, scales = every.mean(axis=0), every.std(axis=0) + 1e-4
    coefficients, intercepts = {}, {}
    for size in HISTORY_SIZES:
        found = _tool_coefficients(sets, size, means, scales)
        coefficients[size], intercepts[size] = found[:-1], float(found[-1])
    return LinearPrior(
        features=candidates.FEATURES,
        means=means,
        scales=scales,
        coefficients=coefficients,
        intercepts=intercepts,
    )


def _tool_coefficients(
    sets: Sequence[TrainingSet], size: int, means: Floats, scales: Floats
) -> Floats:
    made = [rows for one in sets if (rows := _rows(one, size)) is not None]
    scaled = (np.concatenate([features for features, _, _ in made]) - means) / scales
    if size == 0:
        scaled[
            :,
            [candidates.FEATURES.index(name) for name in history_features.HISTORY_FEATURES],
        ] = 0
    weights = [np.full(len(right), min(count, COUNTED) / count) for _, right, count in made]
    return fit_logistic(
        np.column_stack((scaled, np.ones(len(scaled)))),
        np.concatenate([right for _, right, _ in made]),
        prior=np.zeros(len(means) + 1),
        l2=PRECISION,
        weights=np.concatenate(weights),
    )


# ---------------------------------------------------------------- sets


def _examples(one: TrainingSet, known: LinearPrior, size: int) -> list[tuple[SetExample, Floats]]:
    """Make examples of a set, each with a target weight for each candidate.

    Args:
        one: The set.
        known: The prior of tools, learned on the other sets.
        size: Size of the history.
    """
    made = _with_history(one, known, size) if size else _without_history(one, known)
    return list(itertools.islice(made, EXAMPLES))


def _without_history(one: TrainingSet, known: LinearPrior) -> Iterator[tuple[SetExample, Floats]]:
    model = ToolModel.from_prior(known)
    for intent in one.drawn(EXAMPLES, seed=1):
        scored = score_candidates(intent.encoded, one.view, None, model=model)
        tools = frozenset(intent.tools)
        example = set_model.make_example(scored, None, tools)
        called = np.isin(scored.tools[example.candidates.columns], list(tools))
        shared = example.candidates.members @ called
        f1 = 2 * shared / (example.candidates.sizes + len(tools))
        worth = np.exp((f1.astype(np.float64) - 1) / SOFT_WIDTH)
        yield example, worth / worth.sum() if f1.max() > LEAST_F1 else np.zeros(len(f1))


def _with_history(
    one: TrainingSet, known: LinearPrior, size: int
) -> Iterator[tuple[SetExample, Floats]]:
    for intents in histories(one, size):
        past = PastIntents.from_intents(intents)
        history = SetHistory.from_runs(past.runs)
        _, scored = fit_tool_model(past, one.view, prior=known)
        for row, own in enumerate(past.fitted):
            tools = frozenset(past.runs[int(own)])
            example = set_model.make_example(scored[row], history, tools)
            target = np.zeros(len(example.rows))
            if example.chosen_index is not None:
                target[example.chosen_index] = 1
            yield example, target


Examples = dict[int, list[list[tuple[SetExample, Floats]]]]


def _set_models(examples: Examples) -> LinearPrior:
    sample = [
        example.rows
        for size in HISTORY_SIZES[1:]
        for one in examples[size]
        for example, _ in one[:60]
    ]
    scales = np.concatenate(sample).astype(np.float64).std(axis=0) + 0.05
    zeros = np.zeros(len(scales))
    coefficients = {
        size: fit_choice(list(_groups(examples[size])), prior=zeros, scale=scales, l2=PRECISION)
        for size in HISTORY_SIZES
    }
    return LinearPrior(
        features=set_features.SET_FEATURES,
        means=zeros,
        scales=scales,
        coefficients=coefficients,
        intercepts=dict.fromkeys(HISTORY_SIZES, 0.0),
    )


def _without(examples: Examples, place: int) -> Examples:
    """Return the examples of all sets but one."""
    return {size: [*of[:place], *of[place + 1 :]] for size, of in examples.items()}


def _groups(examples: Sequence[Sequence[tuple[SetExample, Floats]]]) -> Iterator[ChoiceGroup]:
    for one in examples:
        for example, target in one:
            if target.any():
                yield example.rows, target


def _calibration(
    examples: Sequence[Sequence[tuple[SetExample, Floats]]], models: LinearPrior, size: int
) -> tuple[float, float]:
    """Fit the map from a choice's probability by the prior alone to its chance of being right."""
    model = set_model.fit_set_model((), prior=models, runs=size)
    judged = [set_model.judge_choice(example, model) for one in examples for example, _ in one]
    likely = np.array([chance for chance, _, _ in judged])
    right = np.array([is_right for *_, is_right in judged], dtype=np.float64)
    return calibrate.fit_platt(likely, right, level=0.0, slope=1.0, weight=1.0)


# ---------------------------------------------------------------- order


def _order(sets: Sequence[TrainingSet]) -> LinearPrior:
    pairs = [
        rows
        for one in sets
        if one.is_ordered
        for number in range(ORDER_HISTORIES)
        for rows in _pairs(one, number)
    ]
    rows = np.concatenate(pairs) / ORDER_SCALES
    zeros = np.zeros(rows.shape[1])
    found = fit_logistic(rows, np.ones(len(rows)), prior=zeros, l2=ORDER_PRECISION)
    alone = np.zeros_like(found)
    alone[_PLACES] = found[_PLACES]
    return LinearPrior(
        features=order.ORDER_FEATURES,
        means=zeros,
        scales=ORDER_SCALES,
        coefficients={size: found if size else alone for size in HISTORY_SIZES},
        intercepts=dict.fromkeys(HISTORY_SIZES, 0.0),
    )


def _pairs(one: TrainingSet, number: int) -> Iterator[Floats]:
    """Yield the pairs of one history; the prior of the tool scores hardly matters here."""
    past = PastIntents.from_intents(one.drawn(ORDER_AT, seed=number))
    history = SetHistory.from_runs(past.runs)
    count = 0
    for scored in fit_tool_model(past, one.view, prior=_flat())[1]:
        rows = order.make_order_pairs(scored, history)[: max(0, ORDER_PAIRS - count)]
        count += len(rows)
        yield rows


@cache
def _flat() -> LinearPrior:
    """Return an uninformative prior."""
    zeros = np.zeros(len(candidates.FEATURES))
    return LinearPrior(
        features=candidates.FEATURES,
        means=zeros,
        scales=zeros + 1,
        coefficients=dict.fromkeys(HISTORY_SIZES, zeros),
        intercepts=dict.fromkeys(HISTORY_SIZES, 0.0),
    )
