"""Suggest a workflow from a frozen view of the tools, their relations and the models.

Everything here is CPU-bound and reads only its arguments, so any thread may run it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import structlog

from execution import approval
from gateway_project.find import lookup, work_context
from gateway_project.find.relation_rows import list_alternatives
from gateway_project.intent.answer import IntentAnswer
from graph.rank_intent import RankedIntent, RankingUnavailable, RankTools
from graph.record import GraphMetric
from graph.topology import Topology
from learning.calibration import IDENTITY, CalibrationMap
from learning.memory.outcomes_of_context import ContextOutcomes, adjust_confidence
from tools.danger import Danger
from tools.foreign_text import quote_foreign
from tools.query_text import QueryError
from tools.visibility import Visibility

if TYPE_CHECKING:
    from gateway_project.intent.answer import IntentRequest
    from graph.rank_intent import RankedIntent
    from graph.suggestion.binding.tasks import WorkflowTool
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.workflow.types import Suggestion, SuggestionContext
    from tools.catalogue import CatalogueTool

MAX_ALTERNATIVES: Final = 3

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class SuggestionView:
    """All that a suggestion reads, as it was at one moment.

    Attributes:
        visibility: The catalogue, as the caller may see it.
        rank: Ranks sets of tools by the index and the models in force.
        topology: Relations as the caller's team sees them.
        metrics: Graph metrics of each tool, by primary key.
        troubles: Why servers are unreliable, by name; healthy ones are absent.
        calibration: Correction of confidences by the outcomes of the team's earlier suggestions.
    """

    visibility: Visibility
    rank: RankTools
    topology: Topology = field(default_factory=Topology)
    metrics: Mapping[int, GraphMetric] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)
    calibration: CalibrationMap = IDENTITY


def suggest_for_request(view: SuggestionView, request: IntentRequest) -> IntentAnswer:
    """Read an intent and suggest a workflow for it; how to treat it is decided later.

    If tools cannot be ranked, the workflow is a draft from words alone, and a warning says why.

    Raises:
        QueryError: If the intent contains no words.
        graph.suggestion.binding.parameters.ParameterError: If a parameter has the wrong type or
            is nested too deeply.
    """
    reading = read_request(request)
    considered, name_warnings = lookup.find_named_tools(
        view.visibility, request.considered, argument="tools_considered"
    )
    try:
        ranked = rank_with_related(view, reading, considered=sorted(considered.tools))
    except RankingUnavailable as error:
        log.warning("intent.ranking_failed", reason=str(error))
        ranked = _draft_from_words(view, reading, str(error))
    context = work_context.describe_intent(
        view.visibility,
        ranked.ranking.tool_probabilities,
        stated=request.context,
        clause_count=len(reading.clauses),
    )
    suggestion = suggest_workflow(view, reading, ranked, parameters=request.parameters)
    warnings: tuple[str, ...] = (lookup.NO_TOOLS_WARNING,)
    if view.visibility.catalogue.tools:
        fallback_warning = (ranked.fallback_reason,) if ranked.fallback_reason else ()
        warnings = (
            *_warn_of_danger(view, suggestion),
            *name_warnings,
            *list_cautions(reading, ranked),
            *fallback_warning,
        )
    calibration = IDENTITY if ranked.fallback_reason else view.calibration
    confidence = _limit_confidence(calibration.apply(suggestion.confidence), suggestion)
    return IntentAnswer(
        suggestion=replace(suggestion, confidence=confidence),
        ranked=ranked,
        ranked_confidence=suggestion.confidence,
        context=context,
        name_tool=view.visibility.get_tool_id,
        reads=view.visibility.only_read([task.tool.tool for task in suggestion.tasks]),
        warnings=warnings,
    )


def _warn_of_danger(view: SuggestionView, suggestion: Suggestion) -> Iterator[str]:
    """Yield a warning for each dangerous or destructive tool of a workflow."""
    visibility = view.visibility
    for pk in dict.fromkeys(task.tool.pk for task in suggestion.tasks):
        tool = visibility.find_tool(pk)
        if tool is not None and (
            danger := approval.warn_danger(
                tool, caller=visibility.caller, catalogue=visibility.catalogue
            )
        ):
            yield f"{tool.tool} is {danger}"


def weigh_outcomes(answer: IntentAnswer, outcomes: ContextOutcomes) -> IntentAnswer:
    """Adjust the confidence by how the team's earlier suggestions of this kind turned out.

    Args:
        answer: With a suggestion; a draft without a confidence stays as it is.
        outcomes: Of the same team and context.
    """
    suggestion = answer.suggestion
    if not (outcomes.count and suggestion.tasks) or not answer.is_ranked:
        return answer
    confidence = _limit_confidence(adjust_confidence(suggestion.confidence, outcomes), suggestion)
    sentence = (
        f"Of {outcomes.count:.3g} earlier suggestions for this kind of work, "
        f"{outcomes.successes:.3g} were right ({outcomes.expected:.3g} expected); this changes "
        f"the confidence by {confidence - suggestion.confidence:+.2f}."
    )
    evidence = replace(
        suggestion.evidence,
        context_count=outcomes.count,
        context_successes=outcomes.successes,
    )
    adjusted = replace(
        suggestion,
        confidence=confidence,
        evidence=evidence,
        explanation=(*suggestion.explanation, sentence),
    )
    return replace(answer, suggestion=adjusted)


def _limit_confidence(confidence: float, suggestion: Suggestion) -> float:
    """Return the confidence that conditions of the intent and denied tasks leave."""
    from graph.suggestion.workflow.plan import limit_confidence

    denied = [task for task in suggestion.tasks if task.is_denied]
    return limit_confidence(confidence, (*suggestion.conditions, *denied))


def rank_with_related(
    view: SuggestionView, reading: IntentReading, *, considered: Sequence[int] = ()
) -> RankedIntent:
    """Rank sets of tools, and once more if the graph supports tools that were not ranked.

    Args:
        view: What the suggestion reads.
        reading: The intent.
        considered: Primary keys of tools to consider in any case.

    Raises:
        RankingUnavailable: If nothing can be ranked.
    """
    from graph.suggestion.workflow.excerpt import find_considered

    ranked = view.rank(reading, considered)
    further_tools = find_considered(
        ranked.ranking, view.topology, usable=view.visibility.is_usable
    )
    if not further_tools or ranked.rank_again is None:
        return ranked
    return replace(ranked, ranking=ranked.rank_again(further_tools))


def suggest_workflow(
    view: SuggestionView,
    reading: IntentReading,
    ranked: RankedIntent,
    *,
    parameters: Mapping[str, Any] | None = None,
) -> Suggestion:
    """Turn ranked sets of tools into a workflow with dependencies and bound arguments.

    Raises:
        graph.suggestion.binding.parameters.ParameterError: If a parameter has the wrong type.
    """
    from graph.suggestion.workflow import build

    context = build_context(view, ranked)
    return build.build_workflow(reading, ranked.ranking, context=context, parameters=parameters)


def build_context(view: SuggestionView, ranked: RankedIntent) -> SuggestionContext:
    """Select the relations around the tools that may be suggested, and describe these tools."""
    from graph.suggestion.workflow.build import list_ranked_tools
    from graph.suggestion.workflow.excerpt import copy_surroundings
    from graph.suggestion.workflow.types import SuggestionContext

    candidates = dict.fromkeys((*list_ranked_tools(ranked.ranking), *_list_request_tools(ranked)))
    nearby = copy_surroundings(view.topology, list(candidates))
    tools = {
        pk: _describe_tool(tool, view)
        for pk in {*candidates, *nearby.collect_tools()}
        if (tool := view.visibility.find_tool(pk)) is not None
    }
    return SuggestionContext(
        find_tool=tools.get,
        topology=nearby,
        metrics=view.metrics,
        knowledge=ranked.knowledge,
        read=ranked.read,
        unranked_reason=ranked.fallback_reason,
    )


def _list_request_tools(ranked: RankedIntent) -> Iterator[int]:
    """Yield the tools from which a plan may choose, which need not be in a ranked set."""
    return (one.tool for candidates in ranked.ranking.requests for one in candidates)


def _draft_from_words(view: SuggestionView, reading: IntentReading, reason: str) -> RankedIntent:
    tools = view.visibility.catalogue.list_usable(view.visibility.caller)
    return RankedIntent(
        ranking=draft_from_words(reading, tools),
        fallback_reason=f"drafted from words alone, without confidence: {reason}",
    )


def _describe_tool(tool: CatalogueTool, view: SuggestionView) -> WorkflowTool:
    from graph.suggestion.binding.tasks import WorkflowTool

    trouble = view.troubles.get(tool.server, "")
    return WorkflowTool(
        pk=tool.pk,
        tool=tool.tool,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        definition_hash=tool.definition_hash,
        is_read_only=tool.danger is Danger.READ,
        is_destructive=tool.danger.may_destroy,
        is_trusted=view.visibility.catalogue.servers[tool.server].trusted,
        obstacle=view.visibility.find_obstacle(tool),
        problem=quote_foreign(trouble) if trouble else "",
        alternative_ids=_list_healthy_alternatives(tool, view) if trouble else (),
    )


def _list_healthy_alternatives(tool: CatalogueTool, view: SuggestionView) -> tuple[str, ...]:
    visibility, troubles = view.visibility, view.troubles
    others = list_alternatives(
        tool, view.topology, visibility, describe_trouble=troubles.get, is_asked=False
    )
    healthy = (
        other for other in others if visibility.catalogue.tools[other].server not in troubles
    )
    return tuple(islice(healthy, MAX_ALTERNATIVES))


MAX_TOOLS: Final = 5


def draft_from_words(reading: IntentReading, tools: Sequence[CatalogueTool]) -> Ranking:
    """Choose, for each clause of an intent, the tool that its words fit best.

    Args:
        reading: The intent.
        tools: Tools that the caller may use.

    Returns:
        A ranking of one set with confidence 0; of none if no tool shares a word.
    """
    from graph.suggestion.ranking.rank import RankedSet, Ranking
    from tools.catalogue_index import index_words, rank_by_words

    index = index_words(tools)
    texts = [clause.english for clause in reading.clauses]
    chosen = dict.fromkeys(
        hit.tool_pk for text in texts for hit in rank_by_words(text, index, limit=1)
    )
    draft = RankedSet(tools=tuple(chosen)[:MAX_TOOLS], confidence=0.0, probability=0.0)
    return Ranking(
        best=draft if chosen else None,
        alternatives=(),
        neighbours=(),
        tool_probabilities={},
        clause_shares={},
        past_intent_count=0,
        counted_runs=0,
    )


MIN_LETTERS: Final = 2
"""Minimum for Latin text; a single character of another script may be a word."""
FOREIGN_SCRIPT_SHARE: Final = 0.5
"""Share of non-Latin letters from which a text counts as another script."""
FAMILIAR_WORD_SHARE: Final = 0.25
"""Minimum share of an intent's words that occur in tool texts, or a caution is added."""
CONFIDENT_PROBABILITY: Final = 0.5
"""Probability of the likeliest tool from which unfamiliar words are no concern."""


def read_request(request: IntentRequest) -> IntentReading:
    """Read an intent; blocking: the first call imports the suggestion modules.

    Raises:
        QueryError: If it contains no words.
    """
    from graph.suggestion.intent.reading import read_intent
    from graph.suggestion.workflow import build  # noqa: F401 - so that the event loop need not

    reading = read_intent(request.intent)
    letters = [char for char in reading.text if char.isalpha()]
    if not letters or (len(letters) < MIN_LETTERS and letters[0].isascii()):
        raise QueryError("the intent contains no words: describe in words what should be done")
    return reading


def list_cautions(reading: IntentReading, ranked: RankedIntent) -> tuple[str, ...]:
    """Warn about an intent in another script, or with few words that tools use."""
    letters = [char for char in reading.english if char.isalpha()]
    foreign_share = sum(not _is_latin(char) for char in letters) / max(len(letters), 1)
    max_probability = max(ranked.ranking.tool_probabilities.values(), default=1.0)
    if foreign_share < FOREIGN_SCRIPT_SHARE and (
        ranked.known_word_share >= FAMILIAR_WORD_SHARE or max_probability >= CONFIDENT_PROBABILITY
    ):
        return ()
    return (
        "few words of the intent occur in tool texts, and most models know English best: check "
        "the suggestion, or use the words of the tools",
    )


def _is_latin(char: str) -> bool:
    return ord(char) < 0x250  # where Latin Extended-B ends
