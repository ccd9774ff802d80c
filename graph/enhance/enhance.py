"""Put beneath each match what it requires, and beside them a few related tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from graph.enhance import instead
from graph.enhance.found import About, Enhanced, Entry, Group, Match, Remark
from graph.enhance.related import related
from graph.enhance.required import required
from graph.enhance.rules import Rules
from graph.relations import Kind
from graph.topology import Topology

LEADING_SHARE: Final = 0.5
"""Share of the best match's score from which a match brings related tools along."""
LEAST_SCORE: Final = 0.1
"""Score that a match must have for it: what goes with an unlikely tool is worth no tokens."""
LEAST_SURE: Final = 0.5
"""Confidence from which what replaces a match is put before it."""

OPEN: Final = Rules()


def enhance(topology: Topology, matches: Sequence[Match], *, rules: Rules = OPEN) -> Enhanced:
    """Add to the matches of a search what relations tell of them.

    A match that replaces another one stands right before it at the latest. Each match is followed
    by all that it requires and that does not stand above it; a match that one above it requires
    stands there and not on its own. Filters do not hold for what is
    required: it is needed whichever server it is on. At most three related tools come beside.

    Args:
        topology: Relations as the caller sees them.
        matches: Best first, each tool once, all of them usable.
        rules: What the caller may see, and what it has.

    Returns:
        Groups, related tools and remarks. Without relations, the matches as they were given.

    Complexity: O(n log n) in the relations at what is listed, whatever else the topology holds.

    Example:
        >>> from graph.relations import Relation
        >>> topology = Topology([Relation(1, 3, Kind.DEPENDS_ON, 1.0)])
        >>> found = enhance(topology, [Match(1, 0.9), Match(2, 0.5)])
        >>> [(entry.tool, entry.role) for entry in found.entries]
        [(1, 'match'), (3, 'required'), (2, 'match')]
    """
    if not len(topology):
        return Enhanced(groups=tuple(Group(_match(match)) for match in matches))
    groups, lacking = _groups(topology, _superseding_first(topology, matches), rules)
    listed = [entry.tool for group in groups for entry in group.entries]
    beside = _related(topology, groups, rules)
    shown = [*listed, *(entry.tool for entry in beside)]
    remarks = (*lacking, *_replaced(topology, shown), *_exclusions(topology, listed, rules))
    return Enhanced(groups=groups, related=beside, remarks=remarks)


def of_tool(topology: Topology, tool: int, *, rules: Rules = OPEN) -> tuple[Remark, ...]:
    """Return what is to be said of a tool by itself: what it lacks, and what took its place.

    Args:
        topology: Relations as the caller sees them.
        tool: Its primary key.
        rules: What the caller may see.
    """
    needs = required(topology, tool, usable=rules.usable, satisfied=rules.in_use)
    lacking = (remark._replace(tool=tool) for remark in needs.lacking)
    return (*lacking, *_replaced(topology, [tool]))


def _superseding_first(topology: Topology, matches: Sequence[Match]) -> list[Match]:
    """Put what replaces a match right before it, unless it stands above it anyway."""
    waiting = {match.tool: match for match in matches}
    ordered: list[Match] = []

    def place(tool: int) -> None:
        match = waiting.pop(tool, None)
        if match is not None:
            for relation in instead.replacements(topology, tool):
                if relation.confidence >= LEAST_SURE:
                    place(relation.source)
            ordered.append(match)

    for match in matches:
        place(match.tool)
    return ordered


def _match(match: Match) -> Entry:
    return Entry(
        tool=match.tool, role="match", score=match.score, match=match.tool, path=(match.tool,)
    )


def _groups(
    topology: Topology, matches: Sequence[Match], rules: Rules
) -> tuple[tuple[Group, ...], list[Remark]]:
    scores = {match.tool: match.score for match in matches}
    listed: set[int] = set()
    groups: list[Group] = []
    lacking: list[Remark] = []
    for match in matches:
        if match.tool in listed:
            continue
        listed.add(match.tool)
        needs = required(topology, match.tool, usable=rules.usable, satisfied=rules.in_use)
        beneath = tuple(
            Entry(
                tool=tool,
                role="required",
                score=scores.get(tool, match.score),
                match=match.tool,
                path=(by, tool),
                confidence=needs.confidence[tool],
            )
            for tool, by in needs.via.items()
            if tool not in listed
        )
        listed.update(entry.tool for entry in beneath)
        groups.append(Group(_match(match), beneath))
        lacking += (remark._replace(tool=match.tool) for remark in needs.lacking)
    return tuple(groups), lacking


def _related(topology: Topology, groups: Sequence[Group], rules: Rules) -> tuple[Entry, ...]:
    """Choose from what goes with the matches that stand out, and nothing that contradicts."""
    matches = [Match(group.match.tool, group.match.score) for group in groups]
    best = max((match.score for match in matches), default=0.0)
    least = max(LEADING_SHARE * best, LEAST_SCORE)
    needed = {entry.tool for group in groups for entry in group.required}
    together = {*needed, *rules.in_use, *(match.tool for match in matches)}

    def fits(tool: int) -> bool:
        return not any(
            topology.get(tool, other, Kind.MUTUALLY_EXCLUSIVE) for other in together
        ) and not any(rules.usable(r.source) for r in instead.replacements(topology, tool))

    # Over a tool that many require, everything that requires it would be related.
    further = replace(rules, usable=lambda tool: tool not in together and rules.usable(tool))
    leading = [match for match in matches if match.score >= least]
    return related(topology, leading, rules=further, fits=fits)


def _replaced(topology: Topology, tools: Iterable[int]) -> Iterator[Remark]:
    for tool in tools:
        for relation in instead.replacements(topology, tool):
            yield Remark(About.REPLACED, tool, relation.source, relation)


def _exclusions(topology: Topology, listed: Sequence[int], rules: Rules) -> Iterator[Remark]:
    """Warn of tools that exclude each other: at the later one, where both are listed."""
    place = {tool: number for number, tool in enumerate(listed)}
    for relation in topology.among([*listed, *rules.in_use]):
        if relation.kind is not Kind.MUTUALLY_EXCLUSIVE:
            continue
        one, other = relation.source, relation.target
        if place.get(one, -1) < place.get(other, -1):
            one, other = other, one
        if one in place:
            yield Remark(About.EXCLUDES, one, other, relation)
