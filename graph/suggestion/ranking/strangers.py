"""Fit how far past runs are to be followed, also for wishes of a kind that none of them was of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from graph.suggestion.ranking.candidates import describe_candidates
from graph.suggestion.ranking.familiarity import (
    SIGNALS,
    FamiliarityGate,
    compute_signals,
    fit_gate,
)
from graph.suggestion.ranking.logistic import compute_sigmoid
from graph.suggestion.ranking.past_intents import PastIntents
from graph.suggestion.ranking.set_history import SetHistory
from graph.suggestion.ranking.static_features import compare_intent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graph.suggestion.ranking.candidates import Candidates
    from graph.suggestion.ranking.set_model import SetModel
    from graph.suggestion.ranking.tool_model import ToolModel
    from graph.suggestion.ranking.tool_view import ToolView

MAX_STRANGERS: Final = 200
"""Limit of the newest past intents that are asked about as if they were of a new kind."""
MAX_WEIGHT: Final = 5.0
"""Limit of how often one of fewer intents counts."""
FOLDS: Final = 5


class _Asked(NamedTuple):
    """A past intent with the evidence it is asked about with."""

    described: Candidates
    history: SetHistory
    called: frozenset[int]


def refit_gate(
    gate: FamiliarityGate,
    known: Sequence[Candidates],
    past: PastIntents,
    view: ToolView,
    *,
    tools: ToolModel,
    sets: SetModel,
) -> FamiliarityGate:
    """Fit the gate to the newest past intents, each as it is and once as a stranger.

    Where intents recur in other words, history is nearly always right about them, which says
    nothing about wishes of another kind. So each is asked about a second time, as if no intent
    that called the same tools had been seen.

    Args:
        gate: Of other catalogues.
        known: The fitted intents, each described by the evidence of the others.
        past: The past intents.
        view: The tools visible to the callers.
        tools: Fitted to them.
        sets: Likewise.
    """
    compare = partial(_compare, tools=tools, sets=sets)
    asked = [
        np.array([compare(one) for one in group]).reshape(-1, len(SIGNALS) + 1)
        for group in (_iterate_known(known, past), _iterate_strangers(past, view))
    ]
    # Texts are seldom right, so that strangers of whom they are would be outvoted.
    totals = [max(1.0, float(np.abs(rows[:, -1]).sum())) for rows in asked]
    weighed = [
        rows[:, -1] * min(MAX_WEIGHT, max(totals) / total)
        for rows, total in zip(asked, totals, strict=True)
    ]
    return fit_gate(np.concatenate(asked)[:, :-1], np.concatenate(weighed), prior=gate)


def _compare(one: _Asked, *, tools: ToolModel, sets: SetModel) -> list[float]:
    """Return the signals of an intent, and 1 or -1 if only history or only text is right."""
    described = one.described
    text_only = tools.compute_text_only_logits(described.features)
    with_history = tools.compute_logits(described.features)
    is_right, is_right_alone = (
        _is_chosen(sets, replace(described, logits=logits, familiarity=share), history, one.called)
        for logits, share, history in (
            (with_history, 1.0, one.history),
            (text_only, 0.0, None),
        )
    )
    signals = compute_signals(described.features, compute_sigmoid(text_only))
    return [*signals.tolist(), float(is_right) - float(is_right_alone)]


def _iterate_known(known: Sequence[Candidates], past: PastIntents) -> Iterator[_Asked]:
    history = SetHistory.from_runs(past.runs)
    for row in range(max(0, len(known) - MAX_STRANGERS), len(known)):
        yield _Asked(known[row], history, frozenset(past.runs[int(past.fitted[row])]))


def _iterate_strangers(past: PastIntents, view: ToolView) -> Iterator[_Asked]:
    """Yield the newest fitted intents with the evidence of those that called other tools."""
    intents = past.required_training.intents[-MAX_STRANGERS:]
    called = [frozenset(one.tools) for one in intents]
    folds = {tools: at % FOLDS for at, tools in enumerate(dict.fromkeys(called))}
    if len(folds) < FOLDS:
        return
    for fold in range(FOLDS):
        others = PastIntents.from_intents(
            [one for one, own in zip(intents, called, strict=True) if folds[own] != fold], view
        )
        history = SetHistory.from_runs(others.runs)
        for one, own in zip(intents, called, strict=True):
            if folds[own] == fold:
                evidence = others.gather_evidence(one.encoded)
                compared = compare_intent(one.encoded, view)
                yield _Asked(describe_candidates(compared, others, evidence), history, own)


def _is_chosen(
    sets: SetModel, scored: Candidates, history: SetHistory | None, called: frozenset[int]
) -> bool:
    """Whether the tools that were called are the ones that would be suggested."""
    choices = sets.list_choices(scored, history)
    (best,) = choices.select_best_first(1)
    return choices.candidates.find_set(called, scored) == best
