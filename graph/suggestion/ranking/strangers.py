"""Fit how far past runs are to be followed, also for wishes of a kind that none of them was of."""

from __future__ import annotations

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

    from numpy.typing import NDArray

    from graph.suggestion.ranking.candidates import Candidates
    from graph.suggestion.ranking.set_model import SetModel
    from graph.suggestion.ranking.tool_model import ToolModel
    from graph.suggestion.ranking.tool_view import ToolView

MAX_STRANGERS: Final = 200
"""Limit of the newest past intents that are asked about as if they were of a new kind."""
MAX_WEIGHT: Final = 5.0
"""Limit of how often one of fewer intents counts."""
FOLDS: Final = 5


class AskedAgain(NamedTuple):
    """A past intent with the evidence it is asked about with.

    Attributes:
        described: Its candidates.
        history: The runs that it may see.
        called: The tools that its run called.
    """

    described: Candidates
    history: SetHistory
    called: frozenset[int]


def refit_gate(
    gate: FamiliarityGate,
    known: Sequence[AskedAgain],
    strangers: Sequence[AskedAgain],
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
        known: From `list_known`.
        strangers: From `list_strangers`; without any, the gate of other catalogues stays.
        tools: Fitted to past intents.
        sets: Likewise.
    """
    compare = partial(_compare, tools=tools, sets=sets)
    asked = [
        np.array([compare(one) for one in group]).reshape(-1, len(SIGNALS) + 1)
        for group in (known, strangers)
    ]
    # Equally, since texts are seldom right and strangers of whom they are would be outvoted.
    of_known, of_strangers = (float(np.abs(rows[:, -1]).sum()) for rows in asked)
    total = min(of_known, MAX_WEIGHT * of_strangers)
    weighed = [
        rows[:, -1] * total / max(1.0, own)
        for rows, own in zip(asked, (of_known, of_strangers), strict=True)
    ]
    return fit_gate(np.concatenate(asked)[:, :-1], np.concatenate(weighed), prior=gate)


def judge_strangers(
    strangers: Sequence[AskedAgain], *, tools: ToolModel, sets: SetModel
) -> NDArray[np.float64]:
    """Return what would be suggested to strangers, shape (n, 3).

    Returns:
        The probability of the chosen set, the familiarity, and 1 if the set is right, else 0.
    """
    rows = []
    for one in strangers:
        scored = tools.score(one.described)
        choices = sets.list_choices(scored, one.history)
        (best,) = choices.select_best_first(1)
        is_right = choices.candidates.find_set(one.called, scored) == best
        rows.append((float(choices.probabilities[best]), scored.familiarity, float(is_right)))
    return np.array(rows).reshape(-1, 3)


def _compare(one: AskedAgain, *, tools: ToolModel, sets: SetModel) -> list[float]:
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
    signals = compute_signals(described, compute_sigmoid(text_only))
    return [*signals.tolist(), float(is_right) - float(is_right_alone)]


def list_known(known: Sequence[Candidates], past: PastIntents) -> list[AskedAgain]:
    """Return the newest fitted intents, each with the evidence of all others.

    Args:
        known: All fitted intents, described so.
        past: The past intents.
    """
    history = SetHistory.from_runs(past.runs)
    return [
        AskedAgain(known[row], history, frozenset(past.runs[int(past.fitted[row])]))
        for row in range(max(0, len(known) - MAX_STRANGERS), len(known))
    ]


def list_strangers(past: PastIntents, view: ToolView) -> list[AskedAgain]:
    """Return the newest fitted intents, each with the evidence of some that called other tools.

    None if too few sets of tools were called.
    """
    intents = past.required_training.intents[-MAX_STRANGERS:]
    called = [frozenset(one.tools) for one in intents]
    folds = {tools: at % FOLDS for at, tools in enumerate(dict.fromkeys(called))}
    if len(folds) < FOLDS:
        return []
    found = []
    for fold in range(FOLDS):
        others = PastIntents.from_intents(
            [one for one, own in zip(intents, called, strict=True) if folds[own] != fold]
        )
        history = SetHistory.from_runs(others.runs)
        for one, own in zip(intents, called, strict=True):
            if folds[own] == fold:
                evidence = others.gather_evidence(one.encoded)
                compared = compare_intent(one.encoded, view)
                described = describe_candidates(compared, others, evidence)
                found.append(AskedAgain(described, history, own))
    return found


def _is_chosen(
    sets: SetModel, scored: Candidates, history: SetHistory | None, called: frozenset[int]
) -> bool:
    """Whether the tools that were called are the ones that would be suggested."""
    choices = sets.list_choices(scored, history)
    (best,) = choices.select_best_first(1)
    return choices.candidates.find_set(called, scored) == best
