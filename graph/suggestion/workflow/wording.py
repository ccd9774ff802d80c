"""Write the explanation and the warnings of a suggestion.

The sentences contain no texts of servers, files or people, only ids of tools and the caller's own
intent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from graph import wording
from graph.enhance.alternatives import find_replacements
from graph.relations import NO_DETAIL
from graph.suggestion.intent.conditions import begins_clause
from graph.suggestion.ranking.calibrate import FEW_RUNS, MAX_UNPROVEN_CONFIDENCE
from graph.suggestion.ranking.past_intents import MAX_COUNTED_RUNS
from graph.suggestion.workflow.choose import (
    FAINT_PROBABILITY,
    MAX_REQUIRED_TOOLS,
    ChosenTools,
    display_id,
    highest_probability,
)
from graph.suggestion.workflow.evidence import MIN_SIMILARITY
from graph.suggestion.workflow.types import (
    SuggestionContext,
    SuggestionEvidence,
)

if TYPE_CHECKING:
    from graph.relations import Relation
    from graph.suggestion.binding.tasks import SuggestedTask
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.workflow.order import WorkflowDag

MAX_TOOLS: Final = 8
"""Limit of tools explained one by one."""
MAX_REORDERED: Final = 3
"""Limit of reported corrections of the order, the most confident first."""
MAX_WARNINGS: Final = 10
MAX_NEAREST: Final = 3
MAX_QUOTED: Final = 80
"""Limit of characters quoted from a clause of the intent."""
MIN_CLAUSE_SHARE: Final = 0.5
"""Share of the best fit to a clause from which a tool is reported to fit it."""


def write_explanation(
    chosen: ChosenTools,
    dag: WorkflowDag,
    evidence: SuggestionEvidence,
    *,
    reading: IntentReading,
    ranking: Ranking,
    context: SuggestionContext,
) -> tuple[str, ...]:
    """Explain in short sentences why this workflow is suggested."""
    return (
        *(_explain_unranked() if context.unranked_reason else _explain_history(evidence)),
        *(() if context.unranked_reason else _explain_ceiling(evidence, chosen)),
        *chosen.changes,
        *_explain_overlap(chosen, ranking),
        *_explain_tools(chosen, reading, ranking, context),
        *_explain_added(chosen, context),
        *_explain_order(dag, context),
        *_explain_bindings(dag),
    )


def write_warnings(  # noqa: PLR0913 - each is a source of warnings
    chosen: ChosenTools,
    dag: WorkflowDag,
    *,
    reading: IntentReading,
    ranking: Ranking,
    context: SuggestionContext,
    unplaced: Sequence[str],
    uncovered: Sequence[str] = (),
) -> tuple[str, ...]:
    """Write the first `MAX_WARNINGS` warnings about running the workflow."""
    warnings = dict.fromkeys(
        (
            *(("only the beginning of the intent was read",) if reading.is_cut else ()),
            *_warn_denied(dag),
            *_warn_uncovered(uncovered),
            *_warn_prohibited(reading.prohibitions, chosen, context),
            *_warn_unlikely_tools(chosen, ranking),
            *unplaced,
            *_warn_missing(chosen, context),
            *_warn_replaced(chosen, context),
            *_warn_problems(chosen, context),
            *(_describe_ignored(relation, context) for relation in dag.ignored_relations),
        )
    )
    listed = tuple(warnings)
    more = len(listed) - MAX_WARNINGS
    return (*listed[:MAX_WARNINGS], *((f"and {more} more",) if more > 0 else ()))


def _warn_denied(dag: WorkflowDag) -> Iterator[str]:
    denied = [task.id for task in dag.tasks if task.is_denied]
    if denied:
        yield (
            f"the intent asks about {', '.join(denied[:MAX_TOOLS])}, tells of it or rules it "
            "out, but does not order it: ask the user before you run it"
        )


def write_conditions(
    conditions: Sequence[tuple[int, str]],
    tasks: Sequence[SuggestedTask],
    requests: Mapping[int, tuple[int, int]],
    *,
    text: str,
) -> Iterator[str]:
    """Warn of tasks that depend on a condition of the intent, which nothing here can check.

    A condition that begins a clause of its own ("show it; if it is empty, …") is one of what
    follows, if anything does.

    Args:
        conditions: Start and words of each.
        tasks: In their order.
        requests: Where the intent asks for each tool.
        text: The intent.
    """
    for start, words in conditions:
        spans = [(task.id, requests.get(task.tool.pk, (0, 0))) for task in tasks]
        ids = [name for name, span in spans if span[1] > start]
        ids = ids or [name for name, _ in spans[-1:]]
        if begins_clause(text, start):
            ids = [name for name, span in spans if span[0] >= start] or ids
        named = ", ".join(ids[:MAX_TOOLS])
        yield (
            f"“{words}” is a condition that the gateway cannot check: find out whether it holds "
            f"before you run {named}"
        )


def write_exchanges(
    chosen: ChosenTools, replaced_tools: Mapping[int, int], context: SuggestionContext
) -> tuple[str, ...]:
    """Write which tools were swapped for the ones that replace them, keyed by the new tool."""
    return tuple(
        f"{display_id(context, replaced_tools[tool])} is replaced by "
        f"{display_id(context, tool)}, which is used instead."
        for tool in dict.fromkeys(chosen.ranked_set.tools)
        if tool in replaced_tools
    )


def write_nearest(ranking: Ranking, context: SuggestionContext) -> tuple[str, ...]:
    """Name the likeliest tools when none is likely enough to be suggested."""
    by_probability = sorted(
        ranking.tool_probabilities.items(), key=lambda item: (-item[1], item[0])
    )
    visible = [
        (tool, chance)
        for pk, chance in by_probability
        if (tool := context.find_tool(pk)) is not None
    ]
    if not visible:
        return ()
    nearest = ", ".join(f"{tool.tool} ({chance:.2f})" for tool, chance in visible[:MAX_NEAREST])
    return (f"The nearest, with probabilities: {nearest}.",)


def _explain_unranked() -> Iterator[str]:
    yield "These tools share words with the intent. Nothing was ranked, so there is no confidence."


def _explain_history(evidence: SuggestionEvidence) -> Iterator[str]:
    if not evidence.past_intent_count:
        yield (
            "No past run counts yet (one does within a minute of its end), so the ranking rests "
            "on the intent's words and meaning."
        )
    else:
        runs = evidence.successes + evidence.failures
        yield (
            "The ranking has learned from "
            f"{_format_count(evidence.past_intent_count, 'different past intent')}; "
            f"{_format_count(evidence.counted_runs, 'case')} of "
            f"{'it' if evidence.past_intent_count == 1 else 'them'} (runs, and workflows that "
            "clients stated) "
            f"{'counts' if evidence.counted_runs == 1 else 'count'}, up to {MAX_COUNTED_RUNS} per "
            "intent."
        )
        if runs:
            yield (
                f"These tools were right in {evidence.successes} of "
                f"{_format_count(runs, 'similar case')}."
            )
        elif evidence.similar_count:
            similar = _format_count(evidence.similar_count, "similar past intent")
            yield f"None of {similar} used them."
        elif evidence.nearest_similarity is not None:
            yield (
                "No past intent is similar: the nearest has a cosine of "
                f"{evidence.nearest_similarity:.2f}."
            )
        if evidence.same_tools_count and evidence.nearest_similarity is not None:
            yield (
                f"{evidence.same_tools_count} of "
                f"{_format_count(evidence.similar_count, 'similar past intent')} (cosine "
                f"{MIN_SIMILARITY:g} or more) used them; the nearest has "
                f"{evidence.nearest_similarity:.2f}."
            )


def _explain_ceiling(evidence: SuggestionEvidence, chosen: ChosenTools) -> Iterator[str]:
    """Explain how little history limits the ranking's confidence, unless it passes the limit.

    Outcomes of earlier suggestions may correct the confidence beyond it.
    """
    if chosen.ranked_set.confidence > MAX_UNPROVEN_CONFIDENCE:
        return
    if evidence.counted_runs < FEW_RUNS:
        yield (
            f"By ranking alone, confidence is at most {MAX_UNPROVEN_CONFIDENCE:.2f} until "
            f"{FEW_RUNS} cases are known, counting at "
            f"most {MAX_COUNTED_RUNS} per intent; {evidence.counted_runs} so far."
        )
    elif evidence.past_intent_count < FEW_RUNS:
        yield (
            "By ranking alone, confidence in a new intent's workflow is at most "
            f"{MAX_UNPROVEN_CONFIDENCE:.2f} until {FEW_RUNS} "
            f"different past intents are known; {evidence.past_intent_count} so far."
        )


def _explain_overlap(chosen: ChosenTools, ranking: Ranking) -> Iterator[str]:
    """Explain why a set was chosen although another one has a higher confidence."""
    threshold = chosen.ranked_set.confidence
    likelier = [ranked for ranked in ranking.alternatives if ranked.confidence > threshold]
    if chosen.ranked_set is ranking.best and likelier:
        yield "No set of tools stands out; this one overlaps most with the likely ones."


def _explain_tools(
    chosen: ChosenTools, reading: IntentReading, ranking: Ranking, context: SuggestionContext
) -> Iterator[str]:
    ranked = [pk for pk in dict.fromkeys(chosen.tools) if pk not in chosen.required_by]
    for pk in ranked[:MAX_TOOLS]:
        parts = []
        if pk in ranking.tool_probabilities:
            parts.append(f"probability {ranking.tool_probabilities[pk]:.2f}")
        if clause := _best_clause(pk, reading, ranking):
            parts.append(f"fits “{clause}”")
        if pk in context.metrics:
            parts.append(f"PageRank {context.metrics[pk].pagerank:.2g}")
        if parts:
            yield f"{display_id(context, pk)}: {', '.join(parts)}."
    if len(ranked) > MAX_TOOLS:
        yield f"And {_format_count(len(ranked) - MAX_TOOLS, 'more tool')}."


def _best_clause(pk: int, reading: IntentReading, ranking: Ranking) -> str:
    """Return the clause of the intent that a tool fits best; empty if it fits none."""
    shares = ranking.clause_shares.get(pk)
    clauses = reading.clauses
    if shares is None or len(shares) != len(clauses) or not len(clauses):
        return ""
    best = int(shares.argmax())
    if shares[best] < MIN_CLAUSE_SHARE:
        return ""
    return _quote(clauses[best].text)


def _explain_added(chosen: ChosenTools, context: SuggestionContext) -> Iterator[str]:
    for tool, cause in list(chosen.required_by.items())[:MAX_TOOLS]:
        yield f"{display_id(context, tool)} was added: {display_id(context, cause)} requires it."
    if len(chosen.required_by) > MAX_TOOLS:
        more = len(chosen.required_by) - MAX_TOOLS
        was = "was" if more == 1 else "were"
        yield f"And {_format_count(more, 'more required tool')} {was} added."
    if chosen.required_by:
        added = len(chosen.required_by)
        yield (
            "Confidence is that of the ranked tools, without the "
            f"{'one' if added == 1 else added} added."
        )


def _explain_order(dag: WorkflowDag, context: SuggestionContext) -> Iterator[str]:
    if dag.reordering_relations:
        name = partial(display_id, context)
        corrections = "; ".join(
            f"{wording.write_sentence(relation._replace(detail=NO_DETAIL), name)} "
            f"({relation.confidence:.2f})"
            for relation in dag.reordering_relations[:MAX_REORDERED]
        )
        yield f"The order was corrected: {corrections}."
    if dag.is_serial:
        yield (
            "Two tasks keep their order unless both only read; only a trusted server's "
            "declaration of that counts."
        )


def _explain_bindings(dag: WorkflowDag) -> Iterator[str]:
    bound = sum(len(task.bindings) for task in dag.tasks)
    missing = sum(len(task.needs_input) for task in dag.tasks)
    if bound or missing:
        needed = f"; {missing} more {'is' if missing == 1 else 'are'} needed" if missing else ""
        counted = _format_count(bound, "argument") if bound else "No argument"
        yield f"{counted} {'are' if bound > 1 else 'is'} bound{needed}."


def _warn_uncovered(uncovered: Sequence[str]) -> Iterator[str]:
    for part in uncovered:
        yield f"no task covers this part of the intent: “{_quote(part)}”"


def _warn_prohibited(
    prohibitions: Sequence[str], chosen: ChosenTools, context: SuggestionContext
) -> Iterator[str]:
    tools = [tool for pk in chosen.tools if (tool := context.find_tool(pk)) is not None]
    if any(not tool.is_read_only for tool in tools):
        for part in prohibitions:
            yield f"the intent says “{_quote(part)}”: make sure that no task does it"


def _quote(part: str) -> str:
    text = " ".join(part.split())
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1].rstrip() + "…"


def _warn_unlikely_tools(chosen: ChosenTools, ranking: Ranking) -> Iterator[str]:
    best = highest_probability(ranking, chosen.tools)
    if best < FAINT_PROBABILITY:
        yield f"no tool clearly fits the intent: the most likely has a probability of {best:.2f}"


def _warn_missing(chosen: ChosenTools, context: SuggestionContext) -> Iterator[str]:
    for relation in chosen.missing_requirements:
        tool = context.find_tool(relation.target)
        if tool is not None:
            obstacle = (
                f", which {tool.obstacle}" if tool.obstacle else ", which cannot be called now"
            )
            yield f"{display_id(context, relation.source)} requires {tool.tool}{obstacle}"
    if chosen.omitted_count:
        yield (
            f"more than {MAX_REQUIRED_TOOLS} tools are required; {chosen.omitted_count} of them "
            "are left out"
        )


def _warn_replaced(chosen: ChosenTools, context: SuggestionContext) -> Iterator[str]:
    for tool in dict.fromkeys(chosen.tools):
        for relation in find_replacements(context.topology, tool):
            replacement = context.find_tool(relation.source)
            if replacement is not None:
                obstacle = f", which {replacement.obstacle}" if replacement.obstacle else ""
                yield f"{display_id(context, tool)} is replaced by {replacement.tool}{obstacle}"


def _warn_problems(chosen: ChosenTools, context: SuggestionContext) -> Iterator[str]:
    problems: Mapping[int, str] = {
        pk: tool.problem
        for pk in chosen.tools
        if (tool := context.find_tool(pk)) is not None and tool.problem
    }
    for pk, problem in problems.items():
        tool = context.find_tool(pk)
        instead = (
            f"; instead: {', '.join(tool.alternative_ids)}"
            if tool and tool.alternative_ids
            else ""
        )
        yield f"the server of {display_id(context, pk)} is in trouble: {problem}{instead}"


def _describe_ignored(relation: Relation, context: SuggestionContext) -> str:
    return (
        "tools require each other in a cycle; the order ignores that "
        f"{display_id(context, relation.source)} requires {display_id(context, relation.target)} "
        "(confidence "
        f"{relation.confidence:.2f}, the weakest of them)"
    )


def _format_count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
