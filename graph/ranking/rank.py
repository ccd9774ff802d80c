"""Rank tool sets for an intent: which one, in which order, how sure, and what speaks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graph.ranking import families
from graph.ranking.calibrate import repetition
from graph.ranking.logistic import sigmoid
from graph.ranking.order import OrderEvidence
from graph.ranking.recur import as_called
from graph.ranking.tool_model import score

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.ranking.ranker import Ranker
    from graph.ranking.scored import Scored
    from graph.ranking.tool_view import ToolView

ALTERNATIVES = 3
NEIGHBOURS = 8


@dataclass(frozen=True, kw_only=True)
class RankedSet:
    """A set of tools that may be what the intent asks for.

    Attributes:
        tools: Primary keys in the order to run them. A tool stands several times where most of
            the similar runs of this very set called it so often.
        confidence: How likely it is exactly right, calibrated, in [0, 1]; less where runs of it
            for this very intent failed.
        probability: Its share among the sets considered, in [0, 1], not calibrated.
    """

    tools: tuple[int, ...]
    confidence: float
    probability: float


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A past intent near this one.

    Attributes:
        pattern: Primary key of its workflow pattern.
        similarity: Cosine of the two intents, in [-1, 1].
        tools: What its run called, in order.
        successes: Runs that succeeded.
        failures: Runs that failed.
    """

    pattern: int
    similarity: float
    tools: tuple[int, ...]
    successes: int
    failures: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """What ranking says of one intent.

    Attributes:
        best: The set to suggest; None where the caller sees no tool that can be compared.
        alternatives: The next likely sets, at most three, best first.
        neighbours: The nearest past intents, at most eight, nearest first.
        tool_probabilities: How likely each tool considered is in the workflow, in [0, 1].
        clause_shares: For each tool of `best` and of the alternatives, how well each clause of
            the intent fits it beside the tool that fits that clause best, in (0, 1], shape (c,).
        history: Past intents that the models were fitted on.
        counted: Their runs that succeeded, at most `past.COUNTED` of each.
    """

    best: RankedSet | None
    alternatives: tuple[RankedSet, ...]
    neighbours: tuple[Neighbour, ...]
    tool_probabilities: Mapping[int, float]
    clause_shares: Mapping[int, NDArray[np.float32]]
    history: int
    counted: int


def rank(
    encoded: Encoded,
    view: ToolView,
    ranker: Ranker,
    *,
    considered: Sequence[int] = (),
    without: AbstractSet[str] = frozenset(),
) -> Ranking:
    """Rank the tool sets that an intent may ask for.

    Args:
        encoded: The intent, with vectors of the model that the index and the ranker have.
        view: The tools that the caller sees.
        ranker: Fitted on past runs, or the prior alone.
        considered: Tools to consider in any case, e.g. those of a search.
        without: Feature families left out (`families.FAMILIES`), to see what they are worth.

    Raises:
        ValueError: If a family is unknown.
    """
    left_out = families.features_of(without)
    models = ranker.without(left_out)
    scored = score(
        encoded,
        view,
        ranker.past,
        model=ranker.tool_model,
        considered=considered,
        without=left_out,
    )
    near = _neighbours(scored, ranker)
    if not len(scored.tools):
        return Ranking(
            best=None,
            alternatives=(),
            neighbours=near,
            tool_probabilities={},
            clause_shares={},
            history=ranker.runs,
            counted=ranker.counted,
        )
    sets = _ranked_sets(scored, models)
    likely = sigmoid(scored.logits)
    listed = {tool for one in sets for tool in one.tools}
    return Ranking(
        best=sets[0],
        alternatives=tuple(sets[1:]),
        neighbours=near,
        tool_probabilities=dict(zip(scored.tools.tolist(), likely.tolist(), strict=True)),
        clause_shares={
            int(tool): shares
            for tool, shares in zip(scored.tools, scored.shares, strict=True)
            if int(tool) in listed
        },
        history=ranker.runs,
        counted=ranker.counted,
    )


def _ranked_sets(scored: Scored, ranker: Ranker) -> list[RankedSet]:
    """Return the set to suggest and its alternatives, each in the order to run it."""
    history = ranker.history
    choices = ranker.set_model.choices(scored, history)
    evidence = OrderEvidence(scored, history)
    sets = []
    for which in choices.best_first(1 + ALTERNATIVES):
        members = choices.candidates.members[which] > 0
        columns = choices.candidates.columns[members]
        ordered = columns[ranker.order_model.order(evidence.features(columns))]
        tools = tuple(scored.tools[ordered].tolist())
        probability = float(choices.probabilities[which])
        sets.append(
            RankedSet(
                tools=as_called(tools, scored, history),
                confidence=ranker.calibrator.confidence(
                    probability,
                    similarity=float(choices.similarities[which]),
                    familiarity=scored.familiarity,
                )
                * _worked(tools, scored, ranker),
                probability=probability,
            )
        )
    return sets


def _worked(tools: Sequence[int], scored: Scored, ranker: Ranker) -> float:
    """Return the share of the runs of these tools for this very intent that succeeded.

    One success is taken for granted, so that it is 1 where nothing failed or nothing ran.
    """
    past, history = ranker.past, ranker.history
    if past is None or history is None:
        return 1.0
    runs = history.runs_of(tools)
    again = repetition(scored.similarity[runs].astype(np.float64))
    succeeded = 1 + float(again @ past.successes[runs])
    return succeeded / (succeeded + float(again @ past.failures[runs]))


def _neighbours(scored: Scored, ranker: Ranker) -> tuple[Neighbour, ...]:
    """Return the nearest past intents."""
    past = ranker.past
    if past is None:
        return ()
    similarity = scored.similarity
    count = min(NEIGHBOURS, len(similarity))
    nearest = np.argpartition(-similarity, count - 1)[:count]
    nearest = nearest[np.argsort(-similarity[nearest], kind="stable")]
    return tuple(
        Neighbour(
            pattern=int(past.patterns[at]),
            similarity=float(similarity[at]),
            tools=past.runs[at],
            successes=int(past.successes[at]),
            failures=int(past.failures[at]),
        )
        for at in nearest.tolist()
    )
