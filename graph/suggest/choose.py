"""Choose the set of tools that a workflow is made of: the likeliest that can stand together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from graph.enhance.required import required
from graph.relations import Key, Kind, Relation
from graph.topology import Topology

if TYPE_CHECKING:
    from graph.ranking.rank import RankedSet, Ranking
    from graph.suggest.types import Known

CHANGED_SHARE: Final = 0.5
"""What is left of the confidence in a set that a tool had to be taken out of: how often the rest
is what was wanted is not known, so the product claims no more than half."""
LEAST_SURE: Final = 0.5
"""Confidence from which one tool replacing another makes the other superfluous."""
NOTHING: Final = 0.15
"""Probability of the likeliest tool below which no workflow is suggested."""
RISKY: Final = 0.3
"""Probability that a tool must have that may destroy something to stand in a workflow."""
FAINT: Final = 0.2
"""Probability of the likeliest tool below which none clearly fits."""
MAX_REQUIRED: Final = 20
"""Tools added because ranked ones require them; nearest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """What a workflow is made of.

    Attributes:
        ranked: The set it stands for.
        tools: What to call, in the ranker's order; what was added stands before what requires it.
        confidence: That the ranked tools which are left are the right set, in [0, 1].
        required: What requires each added tool, by that tool.
        lacking: Requirements that cannot be met.
        beyond: How many more tools are required than can be added.
        changes: What was changed in the likeliest set and what that costs, in sentences.
    """

    ranked: RankedSet
    tools: tuple[int, ...]
    confidence: float
    required: Mapping[int, int] = field(default_factory=dict)
    lacking: tuple[Relation, ...] = ()
    beyond: int = 0
    changes: tuple[str, ...] = ()


def choose(ranking: Ranking, known: Known) -> Chosen | None:
    """Choose the likeliest set whose tools can all be called and suit each other.

    No two may exclude each other, and none may replace another. One that may destroy something
    must be likely itself (see `RISKY`). Where no tool clearly fits (see
    `FAINT`), the set of the highest confidence goes first. Where there is no such set, the
    likeliest one is taken without what cannot stand in it. What the tools cannot do without is
    added. Confidence is that of the set chosen, halved where a tool was taken out.

    Args:
        ranking: Sets of tools, the likeliest first.
        known: Tools and relations, as the caller may see them.

    Returns:
        None where no tool can be called, or none reaches `NOTHING`.
    """
    candidates = [one for one in (ranking.best, *ranking.alternatives) if one is not None]
    if likeliest(ranking, ranking.tool_probabilities) < NOTHING:
        return None
    if candidates and likeliest(ranking, candidates[0].tools) < FAINT:
        # What overlaps most with many unlikely sets is made of tools that nothing speaks for.
        candidates.sort(key=lambda one: -one.confidence)
    objections: list[str] = []
    for ranked in candidates:
        chosen = _completed(ranked, ranked.tools, known)
        reason = _objection(chosen, known) or _risk(ranked, ranking, known)
        if not reason:
            changes = _passed_over(candidates[0], objections, chosen, known)
            return replace(chosen, changes=changes)
        objections.append(reason)
    return _reduced(candidates[0], ranking, known) if candidates else None


def likeliest(ranking: Ranking, tools: Iterable[int]) -> float:
    """Return the probability of the likeliest of some tools; 1 where none is known."""
    known = ranking.tool_probabilities
    return max((known[pk] for pk in tools if pk in known), default=1.0)


def objection(ranked: RankedSet, known: Known) -> str:
    """Say why the tools of a set cannot stand in one workflow; empty if they can."""
    return _objection(_completed(ranked, ranked.tools, known), known)


def is_risky(pk: int, ranking: Ranking, known: Known) -> bool:
    """Whether a tool may destroy something and is too unlikely for that to stand anywhere."""
    tool = known.tool(pk)
    likely = ranking.tool_probabilities.get(pk, 1.0)
    return tool is not None and tool.is_destructive and likely < RISKY


def excluding(topology: Topology, tools: Iterable[int]) -> Relation | None:
    """Return a relation that forbids some tools to stand in one workflow; None if all may."""
    among = topology.among(sorted(set(tools)))
    return next((one for one in among if one.kind is Kind.MUTUALLY_EXCLUSIVE), None)


def superseding(topology: Topology, tools: Iterable[int]) -> Relation | None:
    """Return a relation by which one of some tools replaces another; None if none does."""
    among = topology.among(sorted(set(tools)))
    surely = (one for one in among if one.confidence >= LEAST_SURE)
    return next((one for one in surely if one.kind is Kind.REPLACES), None)


def name(known: Known, pk: int) -> str:
    """Return the id of a tool; of one that the caller may not know, none."""
    tool = known.tool(pk)
    return "another tool" if tool is None else tool.tool


def _usable(known: Known, pk: int) -> bool:
    tool = known.tool(pk)
    return tool is not None and tool.is_usable


def _completed(ranked: RankedSet, tools: Sequence[int], known: Known) -> Chosen:
    """Add what the tools cannot do without, right before the first that requires it."""
    placed: list[int] = []
    added: dict[int, int] = {}
    lacking: dict[Key, Relation] = {}
    beyond = 0
    for tool in tools:
        needs = required(
            known.topology,
            tool,
            usable=lambda pk: _usable(known, pk),
            satisfied={*tools, *added},
        )
        room = MAX_REQUIRED - len(added)
        nearest = dict(list(needs.via.items())[:room])
        beyond += len(needs.via) - len(nearest)
        placed += [*reversed(nearest), tool]
        added |= nearest
        lacking |= {remark.relation.key: remark.relation for remark in needs.lacking}
    return Chosen(
        ranked=ranked,
        tools=tuple(placed),
        confidence=ranked.confidence,
        required=added,
        lacking=tuple(lacking.values()),
        beyond=beyond,
    )


def _objection(chosen: Chosen, known: Known) -> str:
    """Say why tools cannot stand in one workflow; empty if they can."""
    for tool in chosen.ranked.tools:
        if not _usable(known, tool):
            return f"{name(known, tool)} {_obstacle(known, tool)}"
    if rivals := excluding(known.topology, chosen.tools):
        return f"{name(known, rivals.source)} and {name(known, rivals.target)} exclude each other"
    if double := superseding(known.topology, chosen.ranked.tools):
        return f"{name(known, double.source)} replaces {name(known, double.target)}"
    return ""


def _risk(ranked: RankedSet, ranking: Ranking, known: Known) -> str:
    """Say which tool of a set may destroy something without being likely; empty if none."""
    for tool in ranked.tools:
        if is_risky(tool, ranking, known):
            likely = ranking.tool_probabilities[tool]
            return (
                f"{name(known, tool)} may destroy something and has a probability of {likely:.2f}"
            )
    return ""


def _obstacle(known: Known, pk: int) -> str:
    tool = known.tool(pk)
    return (tool.obstacle if tool is not None else "") or "cannot be called now"


def _passed_over(
    best: RankedSet, objections: Sequence[str], chosen: Chosen, known: Known
) -> tuple[str, ...]:
    if not objections:
        return ()
    named = ", ".join(dict.fromkeys(name(known, tool) for tool in best.tools))
    return (
        f"The set of tools that is ranked first ({named}) is not suggested: {objections[0]}. "
        f"This is the next one that can run: confidence {chosen.ranked.confidence:.2f} "
        f"instead of {best.confidence:.2f}.",
    )


def _reduced(ranked: RankedSet, ranking: Ranking, known: Known) -> Chosen | None:
    """Take out of a set what cannot be called, what another replaces, the less likely rivals."""
    likely = ranking.tool_probabilities
    double = {
        one.target
        for one in known.topology.among(ranked.tools)
        if one.kind is Kind.REPLACES and one.confidence >= LEAST_SURE
    }
    by_chance = sorted(
        dict.fromkeys(ranked.tools), key=lambda pk: (pk in double, -likely.get(pk, 0.0))
    )
    kept: list[int] = []
    for tool in by_chance:
        together = [*kept, tool]
        completed = _completed(ranked, together, known).tools
        rivals = excluding(known.topology, completed) or superseding(known.topology, together)
        is_safe = not is_risky(tool, ranking, known)
        if _usable(known, tool) and is_safe and rivals is None:
            kept.append(tool)
    if not kept:
        return None
    tools = [tool for tool in ranked.tools if tool in kept]
    chosen = _completed(ranked, tools, known)
    reason = objection(ranked, known) or _risk(ranked, ranking, known)
    out = ", ".join(name(known, tool) for tool in by_chance if tool not in kept)
    confidence = CHANGED_SHARE * ranked.confidence
    change = (
        f"{out} was taken out, since {reason}: confidence is halved, from "
        f"{ranked.confidence:.2f} to {confidence:.2f}."
    )
    return replace(chosen, confidence=confidence, changes=(change,))
