"""Fit all ranking models on past intents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.suggestion.ranking import calibrate, order, set_model, strangers
from graph.suggestion.ranking import prior as shipped
from graph.suggestion.ranking.past_intents import MAX_COUNTED_RUNS, PastIntent, PastIntents
from graph.suggestion.ranking.ranker import Ranker
from graph.suggestion.ranking.set_history import SetHistory
from graph.suggestion.ranking.tool_model import ToolModel, fit_tool_model, score_candidates

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.ranking.candidates import Candidates
    from graph.suggestion.ranking.tool_view import ToolView

MAX_SET_EXAMPLES: Final = 2_000
"""Limit of first-run examples, from the newest intents, and of repeat examples: thirty
coefficients need no more."""

MAX_SHIFT_INTENTS: Final = 200
"""Limit of the newest past intents of which it is asked whether texts alone had been right."""

SEED: Final = 3


def fit_ranker(
    past: Sequence[PastIntent],
    view: ToolView,
    *,
    prior: shipped.Prior | None = None,
) -> Ranker:
    """Fit a ranker on past intents; without any, return the prior.

    Deterministic. On one core of a small machine it takes seconds for 2,000 intents, under a
    minute for 10,000.

    Args:
        past: Distinct intents with the tools their runs called.
        view: The tools visible to the ranker's callers.
        prior: None: the shipped one.
    """
    loaded_prior = shipped.load_prior() if prior is None else prior
    intents = [intent for intent in past if intent.tools]
    if not intents or not len(view.tools):
        return prior_ranker(view.model, prior=loaded_prior)
    evidence = PastIntents.from_intents(intents)
    history = SetHistory.from_runs(evidence.runs)
    tools, scored = fit_tool_model(
        evidence, view, prior=loaded_prior.tools, gate=loaded_prior.gate
    )
    sets = set_model.fit_set_model(
        list(_make_first_run_examples(scored, evidence, history)),
        prior=loaded_prior.sets,
        runs=len(intents),
    )
    again = strangers.list_strangers(evidence, view)
    known = strangers.list_known(scored, evidence) if again else []
    tools = replace(
        tools,
        gate=strangers.refit_gate(loaded_prior.gate, known, again, tools=tools, sets=sets),
    )
    scored.mix(tools)
    examples = [
        *_make_first_run_examples(scored, evidence, history),
        *_make_repeat_examples(evidence, history, view, tools),
    ]
    sets = set_model.fit_set_model(examples, prior=loaded_prior.sets, runs=len(intents))
    return Ranker(
        tool_model=tools,
        set_model=sets,
        order_model=order.fit_order_model(scored, history, prior=loaded_prior.order),
        calibrator=replace(
            _fit_calibrator(
                examples,
                loaded_prior,
                evidence,
                text_only=_fit_text_only(evidence, view, tools=tools, prior=loaded_prior),
            ),
            stranger=calibrate.fit_strangers(
                strangers.judge_strangers(again, tools=tools, sets=sets),
                loaded_prior.calibration[0],
            ),
        ),
        past=evidence,
        embedding_model=view.model,
    )


def prior_ranker(
    embedding_model: str,
    *,
    prior: shipped.Prior | None = None,
) -> Ranker:
    """Return the ranker of a scope without past intents.

    Args:
        embedding_model: Name of the model in use.
        prior: None: the shipped one.
    """
    prior = shipped.load_prior() if prior is None else prior
    return Ranker(
        tool_model=ToolModel.from_prior(prior.tools),
        set_model=set_model.fit_set_model((), prior=prior.sets, runs=0),
        order_model=order.fit_order_model((), None, prior=prior.order),
        calibrator=calibrate.prior_calibrator(*prior.calibration[0]),
        past=None,
        embedding_model=embedding_model,
    )


def _make_first_run_examples(
    scored: Sequence[Candidates],
    past: PastIntents,
    history: SetHistory,
) -> Iterator[set_model.SetExample]:
    """Make examples of the newest intents, each scored as if it were new."""
    for row in range(max(0, len(scored) - MAX_SET_EXAMPLES), len(scored)):
        called = frozenset(past.runs[int(past.fitted[row])])
        yield set_model.make_example(scored[row], history, called)


def _make_repeat_examples(
    past: PastIntents,
    history: SetHistory,
    view: ToolView,
    model: ToolModel,
) -> Iterator[set_model.SetExample]:
    """Make examples of repeated runs, from the newest intents that ran again.

    History knows such an intent, but its literal values differ each time.
    """
    rows = np.flatnonzero(past.successes[past.fitted] > 1)[-MAX_SET_EXAMPLES:]
    for row in rows.tolist():
        at = int(past.fitted[row])
        encoded = _keep_masked_form(past.required_training.encoded[row])
        yield set_model.make_example(
            score_candidates(encoded, view, past, model=model),
            history,
            frozenset(past.runs[at]),
            intent=at,
            repeats=min(int(past.successes[at]), MAX_COUNTED_RUNS) - 1,
        )


def _keep_masked_form(encoded: EncodedIntent) -> EncodedIntent:
    """Return a copy in which the masked vectors replace the plain ones."""
    return replace(encoded, whole=encoded.masked, clauses=encoded.masked_clauses)


def _fit_calibrator(
    examples: Sequence[set_model.SetExample],
    prior: shipped.Prior,
    past: PastIntents,
    *,
    text_only: tuple[float, float],
) -> calibrate.Calibrator:
    outcomes = set_model.cross_validate_choices(
        examples, prior=prior.sets, runs=len(past), seed=SEED
    )
    return calibrate.fit_calibrator(
        outcomes,
        reached=sum(
            example.chosen_index is not None for example in examples if not example.repeats
        ),
        counted=past.counted_runs,
        prior=prior.calibration[shipped.find_nearest_size(len(past))],
        alone=prior.calibration[0],
        text_only=text_only,
    )


def _fit_text_only(
    past: PastIntents,
    view: ToolView,
    *,
    tools: ToolModel,
    prior: shipped.Prior,
) -> tuple[float, float]:
    """Rank the newest past intents by texts alone, and fit how often that is right here."""
    sets = set_model.fit_set_model((), prior=prior.sets, runs=0)
    newest = range(max(0, len(past.fitted) - MAX_SHIFT_INTENTS), len(past.fitted))
    probabilities, was_right = np.zeros(len(newest)), np.zeros(len(newest))
    for at, row in enumerate(newest):
        encoded = past.required_training.encoded[row]
        scored = score_candidates(encoded, view, None, model=tools)
        choices = sets.list_choices(scored, None)
        (best,) = choices.select_best_first(1)
        called = frozenset(past.runs[int(past.fitted[row])])
        probabilities[at] = choices.probabilities[best]
        was_right[at] = choices.candidates.find_set(called, scored) == best
    return calibrate.fit_text_only(probabilities, was_right, prior.calibration[0])
