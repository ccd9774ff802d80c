"""Suggest for a data set's queries, by the code that serves clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gateway_project import intent_ground
from gateway_project.evaluation.answer import Answer, AnsweredTask
from gateway_project.evaluation.gold_calls import Call
from gateway_project.evaluation.ground import Ground, Intent
from gateway_project.evaluation.learn import Learned
from graph import read_runs
from graph.binding.bind import bind
from graph.binding.steps import BoundStep
from graph.rank_intent import Ranked, rank_encoded
from graph.suggest import dag, suggest
from graph.suggest.types import Asked

if TYPE_CHECKING:
    from graph.ranking.rank import Ranking
    from graph.suggest.types import Known, Suggestion

NOTHING: Final[AbstractSet[str]] = frozenset()


def answer(
    ground: Ground, learned: Learned, intent: Intent, *, without: AbstractSet[str] = NOTHING
) -> Answer:
    """Suggest a workflow for an intent, by the steps that `flow.handle_intent` takes.

    Args:
        ground: What suggestions are made on.
        learned: What they go by.
        intent: The intent.
        without: Feature families left out of ranking, as they were of fitting.
    """
    ranked = _ranked(ground, learned, intent, without=without)
    known = _known(ground, ranked)
    suggestion = suggest.suggest(Asked(reading=intent.reading), ranked.ranking, known=known)
    return _answer(suggestion, ranked.ranking, ground.world.names)


def bound_calls(
    ground: Ground, learned: Learned, intent: Intent, calls: Sequence[Call]
) -> tuple[AnsweredTask, ...]:
    """Bind the arguments of calls that are known to be right.

    Args:
        ground: What suggestions are made on.
        learned: What bindings go by.
        intent: The intent.
        calls: In order; their arguments are not looked at.
    """
    keys = ground.keys
    ranked = _ranked(ground, learned, intent)
    wanted = [keys[call.tool] for call in calls]
    ranking = _including(ranked.ranking, wanted)
    known = _known(ground, replace(ranked, ranking=ranking))
    shares = read_runs.clause_shares(intent.encoded, ground.index, set(wanted))
    steps = []
    for call, pk in zip(calls, wanted, strict=True):
        tool = known.tool(pk)
        if tool is not None:
            steps.append(dag.step(call.id, tool, shares=shares.get(pk)))
    bound = bind(
        steps,
        reading=intent.reading,
        knowledge=learned.kept.knowledge,
        feeds=dag.feeds(known),
        model=learned.kept.binding,
    )
    return tuple(_task(step, tool=call.tool) for step, call in zip(bound, calls, strict=True))


def _including(ranking: Ranking, tools: Sequence[int]) -> Ranking:
    """Put a set of tools where a ranking has its best, so that all about them is looked up."""
    if ranking.best is None:
        return ranking
    return replace(ranking, best=replace(ranking.best, tools=tuple(tools)))


def _ranked(
    ground: Ground, learned: Learned, intent: Intent, *, without: AbstractSet[str] = NOTHING
) -> Ranked:
    ranked = rank_encoded(intent.encoded, index=ground.index, kept=learned.kept, without=without)
    more = intent_ground.more(ranked, ground.sight, ground.world.topology)
    return intent_ground.widened(ranked, more)


def _known(ground: Ground, ranked: Ranked) -> Known:
    return intent_ground.known(
        ranked,
        ground.sight,
        topology=ground.world.topology,
        metrics=ground.world.metrics,
        trouble=lambda _server: "",
    )


def _answer(suggestion: Suggestion, ranking: Ranking, names: Mapping[int, str]) -> Answer:
    tool_of = {task.id: names[task.tool] for task in suggestion.tasks}
    by_id = {task.id: task for task in suggestion.tasks}
    tasks = tuple(
        AnsweredTask(
            id=one,
            tool=tool_of[one],
            arguments=by_id[one].arguments,
            sources=_sources(suggestion.bindings.get(one, ())),
        )
        for one in suggestion.order
    )
    return Answer(
        tasks=tasks,
        waits=frozenset(
            (tool_of[before], tool_of[task.id])
            for task in suggestion.tasks
            for before in task.depends_on
        ),
        confidence=suggestion.confidence,
        probability=suggestion.ranked.probability if suggestion.ranked else 0.0,
        similarity=suggestion.evidence.nearest,
        likely={names[pk]: float(one) for pk, one in ranking.tool_probabilities.items()},
    )


def _task(step: BoundStep, *, tool: str) -> AnsweredTask:
    return AnsweredTask(
        id=step.id, tool=tool, arguments=step.arguments, sources=_sources(step.bindings)
    )


def _sources(bindings: Sequence[Any]) -> dict[str, str]:
    """Return where each argument came from, by its name."""
    return {one.pointer.split("/")[1]: one.source.value for one in bindings if one.pointer}
