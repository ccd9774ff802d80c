"""The answer of a search: its tools with their roles, and remarks about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple

from graph.relations import Relation

EntryRole = Literal["match", "required", "related"]


class SearchMatch(NamedTuple):
    """A tool that a search found.

    Attributes:
        score: Relevance, in [0, 1].
    """

    tool: int
    score: float


class AnswerEntry(NamedTuple):
    """A tool listed in an answer.

    Attributes:
        score: In [0, 1]; a required tool has the score of its match, a related tool that of its
            match times its rank.
        match_tool: The match that it belongs to; itself for a match.
        path: From that match to this tool, both included; for a required tool, from the tool that
            requires it.
        confidence: Confidence in the relation to its match, in [0, 1]; 1 for a match.
        is_close: Whether it is listed directly below its match; false for a related tool whose
            path takes two relations or rests on schemas alone.
    """

    tool: int
    role: EntryRole
    score: float
    match_tool: int
    path: tuple[int, ...]
    confidence: float = 1.0
    is_close: bool = True


class MatchGroup(NamedTuple):
    """A match and the tools it requires that are not listed above it, nearest first."""

    match: AnswerEntry
    required: tuple[AnswerEntry, ...] = ()

    @property
    def entries(self) -> tuple[AnswerEntry, ...]:
        """The match, then the tools it requires."""
        return (self.match, *self.required)


class RemarkKind(StrEnum):
    """What a remark says about its tool."""

    LACKS = "lacks"
    """It requires the other tool, which cannot be used."""
    REPLACED = "replaced"
    """The other tool replaces it."""
    EXCLUDES = "excludes"
    """It must not be used together with the other tool."""


class Remark(NamedTuple):
    """Something to know about a tool before calling it.

    Attributes:
        other_tool: The other tool involved, which may be invisible to the caller.
    """

    kind: RemarkKind
    tool: int
    other_tool: int
    relation: Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class EnhancedAnswer:
    """The matches of a search with the additions from relations.

    Attributes:
        groups: Matches with the tools they require, best first.
        related: At most three tools, best first; kept apart because they are cut first.
        remarks: About listed tools, each once.
    """

    groups: tuple[MatchGroup, ...] = ()
    related: tuple[AnswerEntry, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def entries(self) -> tuple[AnswerEntry, ...]:
        """All entries in display order.

        Close related tools follow their match; distant ones come last.
        """
        shown: list[AnswerEntry] = []
        for group in self.groups:
            shown += group.entries
            shown += [e for e in self.related if e.is_close and e.match_tool == group.match.tool]
        shown_tools = {entry.tool for entry in shown}
        return (*shown, *(entry for entry in self.related if entry.tool not in shown_tools))

    def with_parts(
        self, groups: tuple[MatchGroup, ...], related: tuple[AnswerEntry, ...]
    ) -> EnhancedAnswer:
        """Return the answer reduced to these groups and related tools."""
        return replace(self, groups=groups, related=related)
