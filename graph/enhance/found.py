"""Tools of an answer with their part in it, and what is to be said of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple

from graph.relations import Relation

Role = Literal["match", "required", "related"]


class Match(NamedTuple):
    """A tool that a search found.

    Attributes:
        tool: Primary key.
        score: How well it fits, in [0, 1].
    """

    tool: int
    score: float


class Entry(NamedTuple):
    """A tool of an answer.

    Attributes:
        tool: Primary key.
        role: Why it is there.
        score: Of a match and of what it requires, the match's; of a related tool, that of its
            match times its rank; in [0, 1].
        match: Match that it stands beneath; itself, where it is one.
        path: From that match to this tool, both included; of what is required, from the tool that
            requires it.
        confidence: That it is related so, in [0, 1]; 1 for a match.
        is_close: Whether it stands right beneath its match: it does unless the way to a related
            tool takes two relations, or rests on schemas alone.
    """

    tool: int
    role: Role
    score: float
    match: int
    path: tuple[int, ...]
    confidence: float = 1.0
    is_close: bool = True


class Group(NamedTuple):
    """A match and what it requires beyond what stands above it; nearest first."""

    match: Entry
    required: tuple[Entry, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The match, then what it requires."""
        return (self.match, *self.required)


class About(StrEnum):
    """What a remark says of its tool."""

    LACKS = "lacks"
    """It requires the other, which cannot be used."""
    REPLACED = "replaced"
    """The other supersedes it."""
    EXCLUDES = "excludes"
    """It must not be used together with the other."""


class Remark(NamedTuple):
    """Something to know of a tool before it is called.

    Attributes:
        about: What of.
        tool: Whose it is.
        other: The tool it concerns, which the caller need not be allowed to know.
        relation: What says so.
    """

    about: About
    tool: int
    other: int
    relation: Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class Enhanced:
    """An answer with what relations add to it.

    Attributes:
        groups: Matches with what they require, best first.
        related: At most three, best first; apart, since they are the first to go.
        remarks: Of listed tools, each once.
    """

    groups: tuple[Group, ...] = ()
    related: tuple[Entry, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All in the order they are shown in.

        What is close to a match stands beneath it; what is farther related comes last of all.
        """
        shown: list[Entry] = []
        for group in self.groups:
            shown += group.entries
            shown += [e for e in self.related if e.is_close and e.match == group.match.tool]
        known = {entry.tool for entry in shown}
        return (*shown, *(entry for entry in self.related if entry.tool not in known))

    def keeping(self, groups: tuple[Group, ...], related: tuple[Entry, ...]) -> Enhanced:
        """Return what is left where only some of it fits."""
        return replace(self, groups=groups, related=related)
