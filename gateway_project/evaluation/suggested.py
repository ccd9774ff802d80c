"""Judge what is suggested for the queries of a data set, and put the figures together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gateway_project.evaluation import (
    binding_figures,
    calibration_figures,
    metrics,
    workflow_figures,
)
from gateway_project.evaluation.answer import Answer
from gateway_project.evaluation.binding_figures import Count
from gateway_project.evaluation.dataset import Dataset, DatasetQuery
from gateway_project.evaluation.gold_calls import Call, Names, calls
from gateway_project.evaluation.ground import Ground, Intent, read
from gateway_project.evaluation.learn import Learned, learn, learn_again, record
from gateway_project.evaluation.past_runs import past_runs
from gateway_project.evaluation.suggesting import answer, bound_calls
from gateway_project.evaluation.workflow_figures import WorkflowFigures

BANDS: Final = (-1.0, 0.6, 0.75, 0.85)
"""Lower bounds of the bands of similarity to the nearest past intent."""
CURVE: Final = (0, 5, 20, 50, 200, 800, 2_000, 5_000)
"""Distinct past intents that the learning curve is taken at, as far as there are more."""
CURVE_SAMPLE: Final = 200
"""Queries that each point of it is judged by."""

Progress = Callable[[str, int, int], None]
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """What was suggested for one query, and how right it is.

    Attributes:
        query: With its gold.
        answer: What was suggested.
        figures: Of its tools and their order.
        waits: F1 of what waits for what; None where the gold has no edges.
        is_seen: Whether past runs used exactly the gold tools.
        binding: Of the suggested arguments; None where the gold has no calls.
        given: Of the arguments that would be bound if the gold calls were known.
        milliseconds: From the encoded intent to the suggestion.
    """

    query: DatasetQuery
    answer: Answer
    figures: WorkflowFigures
    waits: float | None
    is_seen: bool
    binding: Count | None
    given: Count | None
    milliseconds: float

    @property
    def is_right(self) -> bool:
        """Whether the set of tools is right."""
        return self.figures.exact_set == 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Suggested:
    """All that was suggested for a data set.

    Attributes:
        judged: One for each query with gold.
        runs: Past runs that were learned from.
        past_intents: Distinct intents among them, without the values they state.
        fit_seconds: Time it took to learn from them.
        is_chain: Whether gold edges are chains throughout.
        curve: Figures by number of distinct past intents.
    """

    judged: Sequence[Judged]
    runs: int
    past_intents: int
    fit_seconds: float
    is_chain: bool
    curve: Sequence[Json]


def evaluate(
    dataset: Dataset, ground: Ground, on_progress: Progress = lambda _stage, _done, _all: None
) -> Suggested:
    """Record the data set's history, learn from it, and suggest for every query with gold."""
    names = Names.of(dataset)
    runs = list(past_runs(dataset.history, names=names, keys=ground.keys))
    if runs:
        record(ground, runs, on_progress=lambda done, total: on_progress("recording", done, total))
    learned = learn(ground)
    asked = [query for query in dataset.queries if query.slots]
    intents = read(
        [query.text for query in asked],
        embedder=ground.embedder,
        on_progress=lambda done, total: on_progress("encoding", done, total),
    )
    pairs = list(zip(asked, intents, strict=True))
    return Suggested(
        judged=list(judge_all(ground, learned, pairs, names, on_progress)),
        runs=len(runs),
        past_intents=len(learned.past),
        fit_seconds=learned.seconds,
        is_chain=workflow_figures.is_chain(asked),
        curve=list(_curve(ground, learned, pairs, on_progress)) if runs else [],
    )


def judge_all(
    ground: Ground,
    learned: Learned,
    asked: Sequence[tuple[DatasetQuery, Intent]],
    names: Names,
    on_progress: Progress = lambda _stage, _done, _all: None,
) -> Iterator[Judged]:
    """Suggest for queries and judge each, in their order."""
    for done, (query, intent) in enumerate(asked, start=1):
        yield _judge(ground, learned, query, intent, calls(query, names))
        on_progress("suggesting", done, len(asked))


def _judge(
    ground: Ground, learned: Learned, query: DatasetQuery, intent: Intent, gold: Sequence[Call]
) -> Judged:
    started = time.perf_counter()
    found = answer(ground, learned, intent)
    taken = time.perf_counter() - started
    binding = given = None
    if gold:
        binding = binding_figures.count(found.tasks, gold, required=ground.required)
        bound = bound_calls(ground, learned, intent, gold)
        given = binding_figures.count(bound, gold, required=ground.required)
    used = frozenset(ground.keys[tool] for tool in query.tools if tool in ground.keys)
    return Judged(
        query=query,
        answer=found,
        figures=workflow_figures.judge(found.chain, query),
        waits=workflow_figures.judge_waits(found, query),
        is_seen=used in learned.sets,
        binding=binding,
        given=given,
        milliseconds=1_000 * taken,
    )


def _curve(
    ground: Ground,
    learned: Learned,
    asked: Sequence[tuple[DatasetQuery, Intent]],
    on_progress: Progress,
) -> Iterator[Json]:
    """Yield the figures after the first few past intents, after more, and after all."""
    step = max(1, len(asked) // CURVE_SAMPLE)
    sample = asked[::step][:CURVE_SAMPLE]
    count = len(learned.past)
    sizes = [*(size for size in CURVE if size < count), count]
    for done, size in enumerate(sizes, start=1):
        then = learned if size == count else learn_again(ground, learned, runs=size)
        answers = [answer(ground, then, intent) for _, intent in sample]
        figures = [
            workflow_figures.judge(found.chain, query)
            for found, (query, _) in zip(answers, sample, strict=True)
        ]
        calibration = calibration_figures.calibration_figures(
            [found.confidence for found in answers], [one.exact_set == 1 for one in figures]
        )
        yield {
            "past_intents": size,
            "n": len(sample),
            **workflow_figures.means(figures).as_json(),
            **calibration,
        }
        on_progress("learning curve", done, len(sizes))


def as_json(found: Suggested | None) -> tuple[Json, Json, Json, Json]:
    """Return workflow, binding, calibration and slices in the documented shape."""
    judged = [] if found is None else found.judged
    workflow = workflow_figures.means([one.figures for one in judged]).as_json()
    ended = [one.binding for one in judged if one.binding is not None]
    return (
        workflow,
        binding_figures.means(ended),
        _calibration(judged),
        {} if found is None else _slices(found),
    )


def _calibration(judged: Iterable[Judged]) -> Json:
    rows = list(judged)
    return calibration_figures.calibration_figures(
        [one.answer.confidence for one in rows], [one.is_right for one in rows]
    )


def _slices(found: Suggested) -> Json:
    judged = found.judged
    given = [one.given for one in judged if one.given is not None]
    ended = [one.binding for one in judged if one.binding is not None]
    waits = [one.waits for one in judged if one.waits is not None]
    taken = [one.milliseconds for one in judged]
    return {
        "history": {
            "runs": found.runs,
            "past_intents": found.past_intents,
            "fit_s": found.fit_seconds,
        },
        "tool_set_seen": _group([one for one in judged if one.is_seen]),
        "tool_set_unseen": _group([one for one in judged if not one.is_seen]),
        "similarity": list(_bands(judged)),
        "gold_is_chain": found.is_chain,
        "edge_f1_of_depends_on": float(np.mean(waits)) if waits and not found.is_chain else None,
        "binding_given_calls": binding_figures.means(given),
        "binding_pooled": _pooled(ended),
        "binding_given_calls_pooled": _pooled(given),
        "calibration_of_constant": constant([one.is_right for one in judged]),
        "learning_curve": list(found.curve),
        "suggestion_without_embedding_ms": metrics.percentiles(taken) if taken else None,
    }


def _group(judged: Sequence[Judged]) -> Json:
    figures = workflow_figures.means([one.figures for one in judged])
    return {"n": len(judged), **figures.as_json(), "ece": _calibration(judged)["ece"]}


def _bands(judged: Sequence[Judged]) -> Iterator[Json]:
    for low, high in zip(BANDS, (*BANDS[1:], 1.01), strict=True):
        held = [
            one
            for one in judged
            if one.answer.similarity is not None and low <= one.answer.similarity < high
        ]
        if held:
            yield {"from": low, "below": min(high, 1.0), **_group(held)}


def _pooled(counts: Sequence[Count]) -> Json:
    total = binding_figures.pooled(counts)
    by_source: Mapping[str, tuple[int, int]] = total.by_source
    return {
        **total.figures,
        "arguments": total.gold,
        "bound": total.bound,
        "required": total.required,
        "by_source": {
            source: {"right": right, "bound": bound}
            for source, (right, bound) in sorted(by_source.items())
        },
    }


def constant(outcomes: Sequence[bool]) -> Json:
    """Return the figures of saying the same for every query: the share that is right."""
    share = float(np.mean(outcomes)) if outcomes else 0.0
    return calibration_figures.calibration_figures([share] * len(outcomes), outcomes)
