"""Add to the matches of a search the tools they require and a few related ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from graph.enhance import alternatives
from graph.enhance.answer import (
    AnswerEntry,
    EnhancedAnswer,
    MatchGroup,
    Remark,
    RemarkKind,
    SearchMatch,
)
from graph.enhance.related import choose_related
from graph.enhance.required import collect_required
from graph.enhance.rules import EnhancementRules
from graph.topology import Topology

LEADING_SCORE_SHARE: Final = 0.5
"""Share of the best match's score from which related tools of a match are added."""
MIN_SCORE: Final = 0.1
"""Score below which a match adds no related tools: they would not be worth their tokens."""
MIN_REPLACEMENT_CONFIDENCE: Final = 0.5
"""Confidence from which the replacement of a match is put before it."""

OPEN_RULES: Final = EnhancementRules()


def enhance_matches(
    topology: Topology, matches: Sequence[SearchMatch], *, rules: EnhancementRules = OPEN_RULES
) -> EnhancedAnswer:
    """Add required tools, related tools and remarks to the matches of a search.

    A match that replaces another one comes directly before it, if not earlier. Each match is
    followed by the tools it requires that are not listed yet; a match required by one above it is
    listed there only. Filters do not apply to required tools: they are needed whichever server
    they are on. At most three related tools are added.

    Args:
        topology: Relations as the caller sees them.
        matches: Best first, each tool once, all of them usable.
        rules: Visibility, filters and tie-breaking data of the caller.

    Returns:
        Groups, related tools and remarks. Without relations, the matches unchanged.

    Complexity: O(n log n) in the relations of the listed tools, whatever the topology's size.

    Example:
        >>> from graph.relations import Relation, RelationKind
        >>> topology = Topology([Relation(1, 3, RelationKind.DEPENDS_ON, 1.0)])
        >>> answer = enhance_matches(topology, [SearchMatch(1, 0.9), SearchMatch(2, 0.5)])
        >>> [(entry.tool, entry.role) for entry in answer.entries]
        [(1, 'match'), (3, 'required'), (2, 'match')]
    """
    if not len(topology):
        return EnhancedAnswer(groups=tuple(MatchGroup(_to_entry(match)) for match in matches))
    groups, missing_remarks = _group_matches(
        topology, _move_replacements_first(topology, matches), rules
    )
    listed = [entry.tool for group in groups for entry in group.entries]
    related = _choose_related_entries(topology, groups, rules)
    shown = [*listed, *(entry.tool for entry in related)]
    remarks = (
        *missing_remarks,
        *_iterate_replacement_remarks(topology, shown),
        *_iterate_exclusion_remarks(topology, listed, rules),
    )
    return EnhancedAnswer(groups=groups, related=related, remarks=remarks)


def collect_remarks(
    topology: Topology, tool: int, *, rules: EnhancementRules = OPEN_RULES
) -> tuple[Remark, ...]:
    """Return the remarks about a single tool: requirements it lacks, and replacements."""
    closure = collect_required(
        topology, tool, usable=rules.is_usable, satisfied=rules.tools_in_use
    )
    missing_remarks = (remark._replace(tool=tool) for remark in closure.missing_remarks)
    return (*missing_remarks, *_iterate_replacement_remarks(topology, [tool]))


def _move_replacements_first(
    topology: Topology, matches: Sequence[SearchMatch]
) -> list[SearchMatch]:
    """Move a match that replaces another directly before it, unless it already precedes it."""
    remaining = {match.tool: match for match in matches}
    ordered: list[SearchMatch] = []

    def place(tool: int) -> None:
        match = remaining.pop(tool, None)
        if match is not None:
            for relation in alternatives.find_replacements(topology, tool):
                if relation.confidence >= MIN_REPLACEMENT_CONFIDENCE:
                    place(relation.source)
            ordered.append(match)

    for match in matches:
        place(match.tool)
    return ordered


def _to_entry(match: SearchMatch) -> AnswerEntry:
    return AnswerEntry(
        tool=match.tool, role="match", score=match.score, match_tool=match.tool, path=(match.tool,)
    )


def _group_matches(
    topology: Topology, matches: Sequence[SearchMatch], rules: EnhancementRules
) -> tuple[tuple[MatchGroup, ...], list[Remark]]:
    scores = {match.tool: match.score for match in matches}
    listed: set[int] = set()
    groups: list[MatchGroup] = []
    missing_remarks: list[Remark] = []
    for match in matches:
        if match.tool in listed:
            continue
        listed.add(match.tool)
        closure = collect_required(
            topology, match.tool, usable=rules.is_usable, satisfied=rules.tools_in_use
        )
        required = tuple(
            AnswerEntry(
                tool=tool,
                role="required",
                score=scores.get(tool, match.score),
                match_tool=match.tool,
                path=(required_by, tool),
                confidence=closure.confidence[tool],
            )
            for tool, required_by in closure.required_by.items()
            if tool not in listed
        )
        listed.update(entry.tool for entry in required)
        groups.append(MatchGroup(_to_entry(match), required))
        missing_remarks += (remark._replace(tool=match.tool) for remark in closure.missing_remarks)
    return tuple(groups), missing_remarks


def _choose_related_entries(
    topology: Topology, groups: Sequence[MatchGroup], rules: EnhancementRules
) -> tuple[AnswerEntry, ...]:
    """Choose related tools of the leading matches; none that is excluded or replaced."""
    matches = [SearchMatch(group.match.tool, group.match.score) for group in groups]
    best = max((match.score for match in matches), default=0.0)
    min_score = max(LEADING_SCORE_SHARE * best, MIN_SCORE)
    required = {entry.tool for group in groups for entry in group.required}
    chosen = {*required, *rules.tools_in_use, *(match.tool for match in matches)}

    def fits(tool: int) -> bool:
        return not any(
            relation.kind.traits.effect == "exclusion"
            for other in chosen
            for relation in topology.relations_between(tool, other)
        ) and not any(
            rules.is_usable(r.source) for r in alternatives.find_replacements(topology, tool)
        )

    # Paths through a commonly required tool would make all its dependents related.
    related_rules = replace(
        rules, is_usable=lambda tool: tool not in chosen and rules.is_usable(tool)
    )
    leading = [match for match in matches if match.score >= min_score]
    return choose_related(topology, leading, rules=related_rules, fits=fits)


def _iterate_replacement_remarks(topology: Topology, tools: Iterable[int]) -> Iterator[Remark]:
    for tool in tools:
        for relation in alternatives.find_replacements(topology, tool):
            yield Remark(RemarkKind.REPLACED, tool, relation.source, relation)


def _iterate_exclusion_remarks(
    topology: Topology, listed: Sequence[int], rules: EnhancementRules
) -> Iterator[Remark]:
    """Yield a remark for each exclusion, about the later tool if both are listed."""
    position = {tool: index for index, tool in enumerate(listed)}
    for relation in topology.relations_among([*listed, *rules.tools_in_use]):
        if relation.kind.traits.effect != "exclusion":
            continue
        later, earlier = relation.source, relation.target
        if position.get(later, -1) < position.get(earlier, -1):
            later, earlier = earlier, later
        if later in position:
            yield Remark(RemarkKind.EXCLUDES, later, earlier, relation)
