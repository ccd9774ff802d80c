"""Suggest for a data set's queries with the code that serves clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.evaluation.answer import SuggestedAnswer, SuggestedCall
from benchmarks.evaluation.gold_calls import GoldCall
from benchmarks.evaluation.inputs import EncodedQuery, SuggestionInputs
from benchmarks.evaluation.learn_history import LearnedHistory
from gateway_project.intent import suggest
from gateway_project.intent.answer import list_planned_calls
from gateway_project.intent.suggest import SuggestionView
from graph.rank_intent import rank_encoded
from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.tasks import SuggestedTask
from graph.suggestion.workflow import dag

if TYPE_CHECKING:
    from graph.suggestion.next_call.call import PlannedCall
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.workflow.types import Suggestion


def suggest_answer(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    intent: EncodedQuery,
) -> SuggestedAnswer:
    """Suggest a workflow for an intent.

    Args:
        inputs: Stored tools, index and embedder.
        learned: The learned models.
        intent: The intent.
    """
    view = _make_view(inputs, learned, intent)
    ranked = suggest.rank_with_related(view, intent.reading)
    suggestion = suggest.suggest_workflow(view, intent.reading, ranked)
    return _make_answer(suggestion, ranked.ranking, inputs.world.dataset_ids)


def suggest_calls(
    inputs: SuggestionInputs, learned: LearnedHistory, intent: EncodedQuery
) -> tuple[PlannedCall, ...]:
    """Return the calls of the workflow suggested for an intent, as prediction takes them in."""
    view = _make_view(inputs, learned, intent)
    ranked = suggest.rank_with_related(view, intent.reading)
    suggestion = suggest.suggest_workflow(view, intent.reading, ranked)
    return list_planned_calls(suggestion, ranked.ranking.tool_probabilities)


def bind_gold_calls(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    intent: EncodedQuery,
    calls: Sequence[GoldCall],
) -> tuple[SuggestedCall, ...]:
    """Bind the arguments of the gold calls.

    Args:
        inputs: Stored tools, index and embedder.
        learned: The learned models.
        intent: The intent.
        calls: In order; their arguments are ignored.
    """
    keys = inputs.keys_by_id
    view = _make_view(inputs, learned, intent)
    ranked = suggest.rank_with_related(view, intent.reading)
    tool_pks = [keys[call.tool] for call in calls]
    ranking = _replace_best_set(ranked.ranking, tool_pks)
    context = suggest.build_context(view, replace(ranked, ranking=ranking))
    steps = []
    for call, pk in zip(calls, tool_pks, strict=True):
        tool = context.find_tool(pk)
        if tool is not None:
            steps.append(SuggestedTask(id=call.id, tool=tool))
    bound = bind_arguments(
        steps,
        reading=intent.reading,
        knowledge=learned.models.knowledge,
        feeds=dag.find_feeds(context),
        read=context.read,
    )
    return tuple(_make_call(step, tool=call.tool) for step, call in zip(bound, calls, strict=True))


def _replace_best_set(ranking: Ranking, tools: Sequence[int]) -> Ranking:
    """Replace the best set of a ranking, so that the context covers its tools."""
    if ranking.best is None:
        return ranking
    return replace(ranking, best=replace(ranking.best, tools=tuple(tools)))


def _make_view(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    intent: EncodedQuery,
) -> SuggestionView:
    """Return what a suggestion for an intent reads; the intent is encoded already."""
    return SuggestionView(
        visibility=inputs.visibility,
        rank=lambda _reading, considered: rank_encoded(
            intent.encoded,
            index=inputs.index,
            models=learned.models,
            considered=considered,
            read=inputs.read,
        ),
        topology=inputs.world.topology,
        metrics=inputs.world.metrics,
    )


def _make_answer(
    suggestion: Suggestion, ranking: Ranking, names: Mapping[int, str]
) -> SuggestedAnswer:
    tool_of = {task.id: names[task.tool.pk] for task in suggestion.tasks}
    return SuggestedAnswer(
        tasks=tuple(_make_call(task, tool=tool_of[task.id]) for task in suggestion.tasks),
        ordered_pairs=frozenset(
            (tool_of[before], tool_of[task.id])
            for task in suggestion.tasks
            for before in task.depends_on
        ),
        confidence=suggestion.confidence,
        raw_probability=suggestion.ranked_set.probability if suggestion.ranked_set else 0.0,
        similarity=suggestion.evidence.nearest_similarity,
        tool_probabilities={
            names[pk]: float(probability) for pk, probability in ranking.tool_probabilities.items()
        },
    )


def _make_call(task: SuggestedTask, *, tool: str) -> SuggestedCall:
    sources = {name: one.source.value for name, one in task.bindings.items()}
    return SuggestedCall(id=task.id, tool=tool, arguments=task.arguments, sources=sources)
