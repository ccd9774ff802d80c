"""Fit everything that ranks workflows on past intents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.ranking import calibrate, families, order, set_model
from graph.ranking import prior as shipped
from graph.ranking.past import COUNTED, Past, PastIntent
from graph.ranking.ranker import Ranker
from graph.ranking.set_history import SetHistory
from graph.ranking.tool_model import ToolModel, fit_tool_model, score

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.ranking.scored import Scored
    from graph.ranking.tool_view import ToolView

LEARNED_SETS: Final = 2_000
"""Ranking sets is learned on the newest so many intents, and as many of those that ran again:
thirty coefficients need no more."""

SEED: Final = 3


def fit(
    past: Sequence[PastIntent],
    view: ToolView,
    *,
    prior: shipped.Prior | None = None,
    without: AbstractSet[str] = frozenset(),
) -> Ranker:
    """Fit a ranker on past intents; without any, the prior is the ranker.

    Deterministic. On one core of a small machine seconds at 2,000 intents, under a minute at
    10,000.

    Args:
        past: Distinct intents with the tools their runs called.
        view: The tools that the callers see whom the ranker is for.
        prior: None: the shipped one.
        without: Feature families left out (`families.FAMILIES`).

    Raises:
        ValueError: If a family is unknown.
    """
    known = shipped.load() if prior is None else prior
    left_out = families.features_of(without)
    runs = [one for one in past if one.tools]
    if not runs or not len(view.tools) or "history" in without:
        return of_prior(view.model, prior=known, without=left_out)
    evidence = Past.of(runs, view)
    history = SetHistory.of(evidence.runs)
    tools, scored = fit_tool_model(
        evidence, view, prior=known.tools, gate=known.gate, without=left_out
    )
    examples = [
        *_first_runs(scored, evidence, history, left_out),
        *_repeats(evidence, history, view, tools, left_out),
    ]
    return Ranker(
        tool_model=tools,
        set_model=set_model.fit_set_model(
            examples, prior=known.sets, runs=len(runs), without=left_out
        ),
        order_model=order.fit_order_model(scored, history, prior=known.order, without=left_out),
        calibrator=_calibrator(examples, known, evidence, left_out),
        past=evidence,
        runs=len(runs),
        embedding_model=view.model,
    )


def of_prior(
    embedding_model: str,
    *,
    prior: shipped.Prior | None = None,
    without: AbstractSet[str] = frozenset(),
) -> Ranker:
    """Return the ranker of a scope without past intents.

    Args:
        embedding_model: Name of the model in use.
        prior: None: the shipped one.
        without: Features left out.
    """
    prior = shipped.load() if prior is None else prior
    return Ranker(
        tool_model=ToolModel.of_prior(prior.tools),
        set_model=set_model.fit_set_model((), prior=prior.sets, runs=0, without=without),
        order_model=order.fit_order_model((), None, prior=prior.order, without=without),
        calibrator=calibrate.of_prior(*prior.calibration[0]),
        past=None,
        runs=0,
        embedding_model=embedding_model,
    )


def _first_runs(
    scored: Sequence[Scored], past: Past, history: SetHistory, without: AbstractSet[str]
) -> Iterator[set_model.SetExample]:
    """Make examples of the newest intents, each as if it had never been asked for before."""
    for row in range(max(0, len(scored) - LEARNED_SETS), len(scored)):
        called = frozenset(past.runs[int(past.fitted[row])])
        yield set_model.example(scored[row], history, called, without=without)


def _repeats(
    past: Past, history: SetHistory, view: ToolView, model: ToolModel, without: AbstractSet[str]
) -> Iterator[set_model.SetExample]:
    """Make examples of what ran again, of the newest intents that did.

    Such an intent is one that the history knows, and its values are others each time.
    """
    rows = np.flatnonzero(past.successes[past.fitted] > 1)[-LEARNED_SETS:]
    for row in rows.tolist():
        at = int(past.fitted[row])
        asked = _without_values(past.trained.encoded[row])
        yield set_model.example(
            score(asked, view, past, model=model, without=without),
            history,
            frozenset(past.runs[at]),
            intent=at,
            repeats=min(int(past.successes[at]), COUNTED) - 1,
            without=without,
        )


def _without_values(encoded: Encoded) -> Encoded:
    """Return an intent of which only the masked form is known."""
    return replace(encoded, whole=encoded.masked, clauses=encoded.masked_clauses)


def _calibrator(
    examples: Sequence[set_model.SetExample],
    prior: shipped.Prior,
    past: Past,
    without: AbstractSet[str],
) -> calibrate.Calibrator:
    judged = set_model.judge_held_out(
        examples, prior=prior.sets, runs=len(past), seed=SEED, without=without
    )
    return calibrate.fit_calibrator(
        judged,
        reached=sum(one.right is not None for one in examples if not one.repeats),
        counted=past.counted,
        prior=prior.calibration[shipped.nearest_size(len(past))],
        alone=prior.calibration[0],
    )
