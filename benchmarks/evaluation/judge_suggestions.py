"""Judge the suggestions for the queries of a data set, and aggregate the figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.evaluation import (
    binding_figures,
    calibration_figures,
    metrics,
    workflow_figures,
)
from benchmarks.evaluation.answer import SuggestedAnswer
from benchmarks.evaluation.binding_figures import BindingCounts
from benchmarks.evaluation.dataset import Dataset, DatasetQuery
from benchmarks.evaluation.gold_calls import GoldCall, GoldToolNames, gold_calls_of
from benchmarks.evaluation.inputs import EncodedQuery, SuggestionInputs, encode_queries
from benchmarks.evaluation.learn_history import LearnedHistory, refit_ranking
from benchmarks.evaluation.suggest_answers import bind_gold_calls, suggest_answer
from benchmarks.evaluation.workflow_figures import WorkflowFigures

SIMILARITY_BANDS: Final = (-1.0, 0.6, 0.75, 0.85)
"""Lower bounds of the bands of similarity to the nearest past intent."""
CURVE_SIZES: Final = (0, 5, 20, 50, 200, 800, 2_000, 5_000)
"""Numbers of distinct past intents at which the learning curve is measured."""
CURVE_SAMPLE_SIZE: Final = 200
"""Queries that each point of the learning curve is measured on."""

SuggestionProgress = Callable[[str, int, int], None]
JsonObject = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedSuggestion:
    """A suggestion for one query, with its figures.

    Attributes:
        query: The query with its gold.
        answer: The suggestion.
        figures: Figures of its tools and their order.
        dependency_f1: F1 of the dependencies; None if the gold has no edges.
        is_known_tool_set: Whether past runs used exactly the gold tools.
        binding: Counts of the suggested arguments; None if the gold has no calls.
        gold_call_binding: Counts of the arguments bound when the gold calls are provided.
        milliseconds: Time from the encoded intent to the suggestion.
    """

    query: DatasetQuery
    answer: SuggestedAnswer
    figures: WorkflowFigures
    dependency_f1: float | None
    is_known_tool_set: bool
    binding: BindingCounts | None
    gold_call_binding: BindingCounts | None
    milliseconds: float

    @property
    def has_right_tools(self) -> bool:
        """Whether the set of tools is right."""
        return self.figures.exact_set == 1


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedSuggestions:
    """All suggestions for a data set.

    Attributes:
        judged: One per query with gold.
        runs: Past runs learned from.
        past_intents: Distinct intents among them, ignoring stated values.
        fit_seconds: Time it took to learn from them.
        is_chain: Whether all gold edges form chains.
        learning_curve: Figures by number of distinct past intents.
    """

    judged: Sequence[JudgedSuggestion]
    runs: int
    past_intents: int
    fit_seconds: float
    is_chain: bool
    learning_curve: Sequence[JsonObject]


def evaluate_suggestions(
    dataset: Dataset,
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    on_progress: SuggestionProgress = lambda _stage, _done, _all: None,
) -> JudgedSuggestions:
    """Suggest for every query with gold, after learning from the data set's history."""
    names = GoldToolNames.from_dataset(dataset)
    queries = [query for query in dataset.queries if query.slots]
    intents = encode_queries(
        [query.text for query in queries],
        embedder=inputs.embedder,
        on_progress=lambda done, total: on_progress("encoding", done, total),
    )
    pairs = list(zip(queries, intents, strict=True))
    return JudgedSuggestions(
        judged=list(judge_queries(inputs, learned, pairs, names, on_progress)),
        runs=learned.runs,
        past_intents=len(learned.past_intents),
        fit_seconds=learned.fit_seconds,
        is_chain=workflow_figures.are_edges_chains(queries),
        learning_curve=list(_iterate_learning_curve(inputs, learned, pairs, on_progress))
        if learned.runs
        else [],
    )


def judge_queries(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    queries: Sequence[tuple[DatasetQuery, EncodedQuery]],
    names: GoldToolNames,
    on_progress: SuggestionProgress = lambda _stage, _done, _all: None,
) -> Iterator[JudgedSuggestion]:
    """Suggest for each query and judge the suggestion, in order."""
    for done, (query, intent) in enumerate(queries, start=1):
        yield _judge_query(inputs, learned, query, intent, gold_calls_of(query, names))
        on_progress("suggesting", done, len(queries))


def _judge_query(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    query: DatasetQuery,
    intent: EncodedQuery,
    gold: Sequence[GoldCall],
) -> JudgedSuggestion:
    started = time.perf_counter()
    found = suggest_answer(inputs, learned, intent)
    taken = time.perf_counter() - started
    binding = gold_call_binding = None
    if gold:
        binding = binding_figures.count_bindings(
            found.tasks, gold, required=inputs.required_parameters
        )
        bound = bind_gold_calls(inputs, learned, intent, gold)
        gold_call_binding = binding_figures.count_bindings(
            bound, gold, required=inputs.required_parameters
        )
    used_tools = frozenset(
        inputs.keys_by_id[tool] for tool in query.tools if tool in inputs.keys_by_id
    )
    return JudgedSuggestion(
        query=query,
        answer=found,
        figures=workflow_figures.judge_workflow(found.chain, query),
        dependency_f1=workflow_figures.dependency_f1(found, query),
        is_known_tool_set=used_tools in learned.tool_sets,
        binding=binding,
        gold_call_binding=gold_call_binding,
        milliseconds=1_000 * taken,
    )


def _iterate_learning_curve(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    queries: Sequence[tuple[DatasetQuery, EncodedQuery]],
    on_progress: SuggestionProgress,
) -> Iterator[JsonObject]:
    """Yield the figures after growing numbers of past intents, up to all."""
    step = max(1, len(queries) // CURVE_SAMPLE_SIZE)
    sample = queries[::step][:CURVE_SAMPLE_SIZE]
    count = len(learned.past_intents)
    sizes = [*(size for size in CURVE_SIZES if size < count), count]
    for done, size in enumerate(sizes, start=1):
        learned_subset = learned if size == count else refit_ranking(inputs, learned, runs=size)
        answers = [suggest_answer(inputs, learned_subset, intent) for _, intent in sample]
        figures = [
            workflow_figures.judge_workflow(found.chain, query)
            for found, (query, _) in zip(answers, sample, strict=True)
        ]
        calibration = calibration_figures.measure_calibration(
            [found.confidence for found in answers], [row.exact_set == 1 for row in figures]
        )
        yield {
            "past_intents": size,
            "n": len(sample),
            **workflow_figures.mean_figures(figures).as_json(),
            **calibration,
        }
        on_progress("learning curve", done, len(sizes))


def suggestions_to_json(
    found: JudgedSuggestions | None,
) -> tuple[JsonObject, JsonObject, JsonObject, JsonObject]:
    """Return workflow, binding, calibration and slices in the documented format."""
    judged = [] if found is None else found.judged
    workflow = workflow_figures.mean_figures(
        [suggestion.figures for suggestion in judged]
    ).as_json()
    bindings = [suggestion.binding for suggestion in judged if suggestion.binding is not None]
    return (
        workflow,
        binding_figures.mean_figures(bindings),
        _measure_calibration(judged),
        {} if found is None else _slices_to_json(found),
    )


def _measure_calibration(judged: Iterable[JudgedSuggestion]) -> JsonObject:
    rows = list(judged)
    return calibration_figures.measure_calibration(
        [suggestion.answer.confidence for suggestion in rows],
        [suggestion.has_right_tools for suggestion in rows],
    )


def _slices_to_json(found: JudgedSuggestions) -> JsonObject:
    judged = found.judged
    gold_call_binding = [
        suggestion.gold_call_binding
        for suggestion in judged
        if suggestion.gold_call_binding is not None
    ]
    bindings = [suggestion.binding for suggestion in judged if suggestion.binding is not None]
    dependency_f1s = [
        suggestion.dependency_f1 for suggestion in judged if suggestion.dependency_f1 is not None
    ]
    taken = [suggestion.milliseconds for suggestion in judged]
    return {
        "history": {
            "runs": found.runs,
            "past_intents": found.past_intents,
            "fit_s": found.fit_seconds,
        },
        "tool_set_seen": _group_to_json(
            [suggestion for suggestion in judged if suggestion.is_known_tool_set]
        ),
        "tool_set_unseen": _group_to_json(
            [suggestion for suggestion in judged if not suggestion.is_known_tool_set]
        ),
        "similarity": list(_iterate_bands(judged)),
        "gold_is_chain": found.is_chain,
        "edge_f1_of_depends_on": float(np.mean(dependency_f1s))
        if dependency_f1s and not found.is_chain
        else None,
        "binding_given_calls": binding_figures.mean_figures(gold_call_binding),
        "binding_pooled": _pooled_to_json(bindings),
        "binding_given_calls_pooled": _pooled_to_json(gold_call_binding),
        "calibration_of_constant": constant_forecast(
            [suggestion.has_right_tools for suggestion in judged]
        ),
        "learning_curve": list(found.learning_curve),
        "suggestion_without_embedding_ms": metrics.compute_percentiles(taken) if taken else None,
    }


def _group_to_json(judged: Sequence[JudgedSuggestion]) -> JsonObject:
    figures = workflow_figures.mean_figures([suggestion.figures for suggestion in judged])
    return {"n": len(judged), **figures.as_json(), "ece": _measure_calibration(judged)["ece"]}


def _iterate_bands(judged: Sequence[JudgedSuggestion]) -> Iterator[JsonObject]:
    for low, high in zip(SIMILARITY_BANDS, (*SIMILARITY_BANDS[1:], 1.01), strict=True):
        in_band = [
            suggestion
            for suggestion in judged
            if suggestion.answer.similarity is not None
            and low <= suggestion.answer.similarity < high
        ]
        if in_band:
            yield {"from": low, "below": min(high, 1.0), **_group_to_json(in_band)}


def _pooled_to_json(counts: Sequence[BindingCounts]) -> JsonObject:
    total = binding_figures.pool_counts(counts)
    by_source: Mapping[str, tuple[int, int]] = total.by_source
    return {
        **total.rates,
        "arguments": total.gold,
        "bound": total.bound,
        "required": total.required,
        "by_source": {
            source: {"right": right, "bound": bound}
            for source, (right, bound) in sorted(by_source.items())
        },
    }


def constant_forecast(outcomes: Sequence[bool]) -> JsonObject:
    """Return the calibration of a constant forecast: the share of right answers."""
    share = float(np.mean(outcomes)) if outcomes else 0.0
    return calibration_figures.measure_calibration([share] * len(outcomes), outcomes)
