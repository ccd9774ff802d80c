"""Choose the tools of a workflow: the likeliest set without conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from graph.enhance.required import collect_required
from graph.relations import Relation, RelationKey
from graph.topology import Topology

if TYPE_CHECKING:
    from graph.suggestion.ranking.rank import RankedSet, Ranking
    from graph.suggestion.workflow.types import SuggestionContext

CHANGED_SET_FACTOR: Final = 0.5
"""Factor on the confidence of a set from which a tool was removed: how often the rest is right is
unknown, so no more than half is claimed."""
MIN_REPLACEMENT_CONFIDENCE: Final = 0.5
"""Confidence from which a replacement makes the replaced tool redundant."""
MIN_TOOL_PROBABILITY: Final = 0.15
"""No workflow is suggested if the likeliest tool is less probable than this."""
MIN_RISKY_PROBABILITY: Final = 0.3
"""Minimum probability of a destructive tool in a workflow."""
MIN_ASKED_SHARE: Final = 0.3
"""Least fit of a destructive tool to a clause of the intent, relative to the best-fitting tool by
text: one that fits less was taught by runs alone, which is not enough to destroy something."""
MIN_ALTERNATIVE_SHARE: Final = 0.25
"""Share of the likeliest set's confidence below which another set is no substitute for it if it
only holds an unlikely destructive tool: then it is reduced."""
FAINT_PROBABILITY: Final = 0.2
"""No tool clearly fits if the likeliest is less probable than this."""
MAX_REQUIRED_TOOLS: Final = 20
"""Limit of tools added because ranked ones require them; nearest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenTools:
    """The tools of a workflow.

    Attributes:
        ranked_set: The ranked set they were chosen from.
        tools: Tools to call, in the ranker's order; an added tool precedes the one requiring it.
        confidence: Probability that the remaining ranked tools are the right set, in [0, 1].
        required_by: Added tool to the tool that requires it.
        missing_requirements: Requirements that cannot be met.
        omitted_count: Required tools beyond `MAX_REQUIRED_TOOLS`.
        changes: Sentences on how the likeliest set was changed and what that costs.
    """

    ranked_set: RankedSet
    tools: tuple[int, ...]
    confidence: float
    required_by: Mapping[int, int] = field(default_factory=dict)
    missing_requirements: tuple[Relation, ...] = ()
    omitted_count: int = 0
    changes: tuple[str, ...] = ()


def choose_set(ranking: Ranking, context: SuggestionContext) -> ChosenTools | None:
    """Choose the likeliest set whose tools are all callable and compatible.

    No two may exclude each other, none may replace another, and a destructive tool must itself be
    likely (see `MIN_RISKY_PROBABILITY`) and asked for (see `MIN_ASKED_SHARE`). If no tool clearly
    fits (see `FAINT_PROBABILITY`), sets are tried by confidence instead. If no set qualifies, the
    likeliest is reduced to its compatible tools. Required tools are added. The confidence is that
    of the chosen set, halved if a tool was removed.

    Args:
        ranking: Sets of tools, the likeliest first.
        context: Tools and relations visible to the caller.

    Returns:
        None if no tool can be called, or none reaches `MIN_TOOL_PROBABILITY`.
    """
    candidates = list(ranking.sets)
    if highest_probability(ranking, ranking.tool_probabilities) < MIN_TOOL_PROBABILITY:
        return None
    if candidates and highest_probability(ranking, candidates[0].tools) < FAINT_PROBABILITY:
        # The set that overlaps most with many unlikely ones would hold tools without evidence.
        candidates.sort(key=lambda ranked: -ranked.confidence)
    objections: list[str] = []
    least = 0.0
    for ranked in candidates:
        if ranked.confidence < least:
            break
        chosen = _add_requirements(ranked, ranked.tools, context)
        conflict = _find_conflict(chosen, context)
        reason = conflict or _find_risk(ranked, ranking, context)
        if not objections and not conflict:
            least = MIN_ALTERNATIVE_SHARE * ranked.confidence
        if not reason:
            changes = _explain_passed_over(candidates[0], objections, chosen, context)
            return replace(chosen, changes=changes)
        objections.append(reason)
    return _reduce_set(candidates[0], ranking, context) if candidates else None


def highest_probability(ranking: Ranking, tools: Iterable[int]) -> float:
    """Return the highest probability among the tools; 1 if none has one."""
    probabilities = ranking.tool_probabilities
    return max((probabilities[pk] for pk in tools if pk in probabilities), default=1.0)


def find_objection(ranked: RankedSet, context: SuggestionContext) -> str:
    """Explain why the tools of a set cannot form one workflow; empty if they can."""
    return _find_conflict(_add_requirements(ranked, ranked.tools, context), context)


def is_risky(pk: int, ranking: Ranking, context: SuggestionContext) -> bool:
    """Whether a tool is destructive, and too unlikely or not what the intent's words ask for."""
    tool = context.find_tool(pk)
    if tool is None or not tool.is_destructive:
        return False
    probability = ranking.tool_probabilities.get(pk, 1.0)
    return probability < MIN_RISKY_PROBABILITY or not _is_asked_for(pk, ranking)


def _is_asked_for(pk: int, ranking: Ranking) -> bool:
    """Whether the words of an intent ask for a tool, whatever past runs say."""
    shares = ranking.clause_shares.get(pk)
    return shares is None or not len(shares) or float(max(shares)) >= MIN_ASKED_SHARE


def find_exclusion(topology: Topology, tools: Iterable[int]) -> Relation | None:
    """Return a relation by which two of the tools exclude each other; None if there is none."""
    relations = topology.relations_among(sorted(set(tools)))
    return next((one for one in relations if one.kind.traits.effect == "exclusion"), None)


def find_replacement(topology: Topology, tools: Iterable[int]) -> Relation | None:
    """Return a relation by which one of the tools replaces another; None if none does."""
    relations = topology.relations_among(sorted(set(tools)))
    return next((relation for relation in relations if _is_sure_replacement(relation)), None)


def display_id(context: SuggestionContext, pk: int) -> str:
    """Return the id of a tool, or "another tool" if it is hidden from the caller."""
    tool = context.find_tool(pk)
    return "another tool" if tool is None else tool.tool


def _is_sure_replacement(relation: Relation) -> bool:
    return (
        relation.kind.traits.effect == "replacement"
        and relation.confidence >= MIN_REPLACEMENT_CONFIDENCE
    )


def _is_usable(context: SuggestionContext, pk: int) -> bool:
    tool = context.find_tool(pk)
    return tool is not None and tool.is_usable


def _add_requirements(
    ranked: RankedSet, tools: Sequence[int], context: SuggestionContext
) -> ChosenTools:
    """Insert required tools right before the first tool that requires them."""
    placed: list[int] = []
    added: dict[int, int] = {}
    missing: dict[RelationKey, Relation] = {}
    omitted_count = 0
    for tool in tools:
        requirements = collect_required(
            context.topology,
            tool,
            usable=lambda pk: _is_usable(context, pk),
            satisfied={*tools, *added},
        )
        room = MAX_REQUIRED_TOOLS - len(added)
        nearest = dict(list(requirements.required_by.items())[:room])
        omitted_count += len(requirements.required_by) - len(nearest)
        placed += [*reversed(nearest), tool]
        added |= nearest
        missing |= {
            remark.relation.key: remark.relation for remark in requirements.missing_remarks
        }
    return ChosenTools(
        ranked_set=ranked,
        tools=tuple(placed),
        confidence=ranked.confidence,
        required_by=added,
        missing_requirements=tuple(missing.values()),
        omitted_count=omitted_count,
    )


def _find_conflict(chosen: ChosenTools, context: SuggestionContext) -> str:
    """Explain why the chosen tools cannot form one workflow; empty if they can."""
    for tool in chosen.ranked_set.tools:
        if not _is_usable(context, tool):
            return f"{display_id(context, tool)} {_explain_obstacle(context, tool)}"
    if exclusion := find_exclusion(context.topology, chosen.tools):
        return (
            f"{display_id(context, exclusion.source)} and {display_id(context, exclusion.target)} "
            "exclude each other"
        )
    if replacement := find_replacement(context.topology, chosen.ranked_set.tools):
        new, old = replacement.source, replacement.target
        return f"{display_id(context, new)} replaces {display_id(context, old)}"
    return ""


def _find_risk(ranked: RankedSet, ranking: Ranking, context: SuggestionContext) -> str:
    """Name a destructive tool of the set that is risky; empty if there is none."""
    for tool in ranked.tools:
        if is_risky(tool, ranking, context):
            if not _is_asked_for(tool, ranking):
                return (
                    f"{display_id(context, tool)} may destroy something, and only past runs "
                    "suggest it"
                )
            probability = ranking.tool_probabilities[tool]
            return (
                f"{display_id(context, tool)} may destroy something and has a probability of "
                f"{probability:.2f}"
            )
    return ""


def _explain_obstacle(context: SuggestionContext, pk: int) -> str:
    tool = context.find_tool(pk)
    return (tool.obstacle if tool is not None else "") or "cannot be called now"


def _explain_passed_over(
    best: RankedSet, objections: Sequence[str], chosen: ChosenTools, context: SuggestionContext
) -> tuple[str, ...]:
    if not objections:
        return ()
    names = ", ".join(dict.fromkeys(display_id(context, tool) for tool in best.tools))
    return (
        f"The top-ranked set of tools ({names}) is not suggested: {objections[0]}. This is the "
        f"next one that can run, with confidence {chosen.ranked_set.confidence:.2f} instead of "
        f"{best.confidence:.2f}.",
    )


def _reduce_set(
    ranked: RankedSet, ranking: Ranking, context: SuggestionContext
) -> ChosenTools | None:
    """Drop uncallable and replaced tools and the less likely of two that exclude each other."""
    probabilities = ranking.tool_probabilities
    replaced = {
        relation.target
        for relation in context.topology.relations_among(ranked.tools)
        if _is_sure_replacement(relation)
    }
    by_probability = sorted(
        dict.fromkeys(ranked.tools), key=lambda pk: (pk in replaced, -probabilities.get(pk, 0.0))
    )
    kept: list[int] = []
    for tool in by_probability:
        together = [*kept, tool]
        completed = _add_requirements(ranked, together, context).tools
        conflict = find_exclusion(context.topology, completed) or find_replacement(
            context.topology, together
        )
        is_safe = not is_risky(tool, ranking, context)
        if _is_usable(context, tool) and is_safe and conflict is None:
            kept.append(tool)
    if not kept:
        return None
    tools = [tool for tool in ranked.tools if tool in kept]
    chosen = _add_requirements(ranked, tools, context)
    reason = find_objection(ranked, context) or _find_risk(ranked, ranking, context)
    removed = ", ".join(display_id(context, tool) for tool in by_probability if tool not in kept)
    confidence = CHANGED_SET_FACTOR * ranked.confidence
    change = (
        f"{removed} was removed because {reason}: confidence is halved, from "
        f"{ranked.confidence:.2f} to {confidence:.2f}."
    )
    return replace(chosen, confidence=confidence, changes=(change,))
