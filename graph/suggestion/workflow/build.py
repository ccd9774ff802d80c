"""Turn ranked sets of tools into a workflow that can be run as returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

from graph import explain
from graph.explain import DisplayNames, ToolPath
from graph.suggestion.binding.parameters import warn_unplaced
from graph.suggestion.intent.conditions import find_conditions
from graph.suggestion.workflow import wording
from graph.suggestion.workflow.assign_tools import plan_requests
from graph.suggestion.workflow.choose import choose_set, display_id, find_objection, is_risky
from graph.suggestion.workflow.dag import arrange_tasks
from graph.suggestion.workflow.evidence import count_evidence
from graph.suggestion.workflow.plan import (
    apply_plan,
    find_uncovered,
    is_known_workflow,
    is_planned,
    limit_confidence,
    locate_requests,
    serves_nothing,
    serves_request,
)
from graph.suggestion.workflow.replace_deprecated import replace_deprecated
from graph.suggestion.workflow.types import (
    Suggestion,
    SuggestionContext,
)
from graph.topology import Topology
from tools.embed.reader import keep_answers
from tools.fusion import NOTHING_CLOSE_WARNING

if TYPE_CHECKING:
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import RankedSet, Ranking
    from graph.suggestion.workflow.assign_tools import PlannedRequest

NOTHING_FITS_MESSAGE = (
    "Nothing fits well enough to suggest: describe the task in more words; search_tools finds "
    "single tools."
)
MAX_PATHS: Final = 8
MAX_PATH_HOPS: Final = 3
MIN_PATH_CONFIDENCE: Final = 0.25
"""Minimum product of the hops' confidences of a path."""


def build_workflow(
    reading: IntentReading,
    ranking: Ranking,
    *,
    context: SuggestionContext,
    parameters: Mapping[str, Any] | None = None,
) -> Suggestion:
    """Turn ranked sets of tools into a workflow with bound arguments.

    Takes the likeliest set whose tools can all be called and do not exclude each other, with the
    tools it requires, in the ranker's order as far as dependencies allow.

    Args:
        reading: The prepared intent.
        ranking: The sets of tools, from `graph.suggestion.ranking.rank.rank_tool_sets`.
        context: Tools, relations and values bound in past runs, as the caller may see them.
        parameters: Values that the caller passes by name.

    Returns:
        The workflow; without tasks if no tool fits.

    Raises:
        graph.suggestion.binding.parameters.ParameterError: If a parameter is of the wrong type;
            the message names it.
    """
    if context.read is not None:  # what is read to choose a tool is read to bind it, too
        context = replace(context, read=keep_answers(context.read))
    plan = plan_requests(reading, ranking, context)
    ranking, replaced_tools = replace_deprecated(apply_plan(ranking, plan, reading), context)
    chosen = choose_set(ranking, context)
    is_unserved = serves_nothing(ranking, plan)
    if chosen is None or is_unserved:
        alternatives = _list_alternatives(ranking, None, context, plan=plan, reading=reading)
        return _empty_suggestion(
            reading, ranking, context, alternatives=alternatives, is_unserved=is_unserved
        )
    replacements = wording.write_exchanges(chosen, replaced_tools, context)
    chosen = replace(chosen, changes=(*replacements, *chosen.changes))
    located = locate_requests(plan, replaced_tools)
    dag = arrange_tasks(
        chosen,
        reading,
        ranking=ranking,
        context=context,
        parameters=parameters,
        requests=located,
    )
    conditions = find_conditions(reading.text)
    evidence = count_evidence(
        ranking, (tool for tool in chosen.tools if tool not in chosen.required_by)
    )
    named = {*chosen.tools, *(replaced_tools[pk] for pk in chosen.tools if pk in replaced_tools)}
    is_known = is_known_workflow(chosen, ranking)
    uncovered = () if is_known else find_uncovered(plan, named, ranking, reading)
    unplaced = warn_unplaced(dag.tasks, parameters or {})
    denied = [task for task in dag.tasks if task.is_denied]
    return Suggestion(
        tasks=dag.tasks,
        confidence=limit_confidence(chosen.confidence, (*uncovered, *conditions, *denied)),
        ranked_set=chosen.ranked_set,
        alternatives=_list_alternatives(
            ranking, chosen.ranked_set, context, plan=plan, reading=reading
        ),
        evidence=evidence,
        paths=find_paths(context.topology, chosen.tools, lambda pk: display_id(context, pk)),
        explanation=wording.write_explanation(
            chosen, dag, evidence, reading=reading, ranking=ranking, context=context
        ),
        warnings=wording.write_warnings(
            chosen,
            dag,
            reading=reading,
            ranking=ranking,
            context=context,
            unplaced=(
                *wording.write_conditions(conditions, dag.tasks, located, text=reading.text),
                *unplaced,
            ),
            uncovered=uncovered,
        ),
        uncovered=uncovered,
        conditions=tuple(words for _, words in conditions),
    )


def _empty_suggestion(
    reading: IntentReading,
    ranking: Ranking,
    context: SuggestionContext,
    *,
    alternatives: tuple[RankedSet, ...],
    is_unserved: bool,
) -> Suggestion:
    """Return a suggestion without tasks that names the nearest tools."""
    return Suggestion(
        alternatives=alternatives,
        evidence=count_evidence(ranking, ()),
        explanation=(NOTHING_FITS_MESSAGE, *wording.write_nearest(ranking, context)),
        warnings=(
            *(("only the beginning of the intent was read",) if reading.is_cut else ()),
            *((NOTHING_CLOSE_WARNING,) if is_unserved else ()),
        ),
    )


def list_ranked_tools(ranking: Ranking) -> tuple[int, ...]:
    """Return the distinct tools of all ranked sets, the likeliest set's first."""
    return tuple(dict.fromkeys(tool for ranked in ranking.sets for tool in ranked.tools))


def _list_alternatives(
    ranking: Ranking,
    chosen: RankedSet | None,
    context: SuggestionContext,
    *,
    plan: Sequence[PlannedRequest],
    reading: IntentReading,
) -> tuple[RankedSet, ...]:
    """Return the other sets that could run, the most confident first.

    Sets with an unlikely destructive tool are left out, and so are those with one that serves no
    request: ranked sets fit the whole text, so also what it rules out. Only one set can be right:
    all confidences together, with the chosen one's, are at most 1.
    """
    is_by_request = is_planned(ranking, plan, reading)
    found = [
        ranked
        for ranked in sorted(ranking.sets, key=lambda ranked: -ranked.confidence)
        if ranked is not chosen
        and not find_objection(ranked, context)
        and not any(is_risky(tool, ranking, context) for tool in ranked.tools)
        and not (
            is_by_request
            and any(_is_unasked(tool, context, plan, reading) for tool in ranked.tools)
        )
    ]
    claimed = sum(ranked.confidence for ranked in found)
    left = 1.0 - (chosen.confidence if chosen is not None else 0.0)
    factor = min(1.0, left / claimed) if claimed else 1.0
    return tuple(replace(ranked, confidence=ranked.confidence * factor) for ranked in found)


def _is_unasked(
    pk: int, context: SuggestionContext, plan: Sequence[PlannedRequest], reading: IntentReading
) -> bool:
    """Whether a tool serves no request, and may destroy something or do what is ruled out."""
    tool = context.find_tool(pk)
    is_delicate = bool(reading.prohibitions) or (tool is not None and tool.is_destructive)
    return is_delicate and not serves_request(pk, plan)


def find_paths(
    topology: Topology, tools: Sequence[int], names: Callable[[int], str]
) -> tuple[ToolPath, ...]:
    """Find the most confident paths between tools; direct ones first, then by confidence.

    Paths over relations that order nothing are left out: they are no dependencies.

    Args:
        topology: The relations around the tools; all of it is searched.
        tools: Primary keys; duplicates are ignored.
        names: Looks up a tool's name by primary key.
    """
    found = list(
        _iterate_paths(topology, tuple(dict.fromkeys(tools)), DisplayNames(name_of=names))
    )
    found.sort(key=lambda path: (not path.is_direct, -path.confidence, path.tools))
    return tuple(found[:MAX_PATHS])


def _iterate_paths(
    topology: Topology, tools: Sequence[int], display_names: DisplayNames
) -> Iterator[ToolPath]:
    for start, end in permutations(tools, 2):
        path = explain.find_routes(topology, start, end, names=display_names).strongest
        if (
            path is not None
            and len(path.hops) <= MAX_PATH_HOPS
            and path.confidence >= MIN_PATH_CONFIDENCE
        ):
            is_ordered = all(hop.relation.kind.traits.runs_first for hop in path.hops)
            crosses_workflow = set(path.tools[1:-1]) & set(tools)
            if is_ordered and not crosses_workflow:
                yield path
