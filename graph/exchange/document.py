"""What a file says of relations between tools, whatever the form it is written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from graph.relations import SYMMETRIC, Kind, Source

FORMAT: Final = "foregate-graph"
VERSION: Final = 1
BELONGS_TO: Final = "belongs_to"
"""Kind of the edge from a tool to its category; of files only, since it is no relation."""
CATEGORY_MARK: Final = ":"
"""First character of a category's id in a file; no tool's id begins with it."""
MAX_PROBLEMS: Final = 1_000
"""Problems that are kept; beyond them they are counted."""

FileKey = tuple[str, str, Kind]


class Problem(NamedTuple):
    """Something in a file that keeps it from being imported.

    Attributes:
        line: Where it stands, counted from 1; 0 where it concerns the file as a whole.
        message: What is wrong, and what is expected.
    """

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedEvidence:
    """What a file says that one source says of a relation.

    Attributes:
        source: Of the evidence.
        confidence: Of the source itself, in [0, 1]; None where only counts speak.
        successes: Times it held.
        failures: Times it did not.
        seconds: Of `precedes`, average time between the two.
        fields: Of `provides`, which output feeds which input, as JSON pointers.
        origin: Who or what said it.
        team: Name of the team whose observation it is; empty is everybody's.
        last_seen_at: When it was counted or said last.
    """

    source: Source
    confidence: float | None = None
    successes: float = 0.0
    failures: float = 0.0
    seconds: float | None = None
    fields: tuple[Mapping[str, Any], ...] = ()
    origin: str = ""
    team: str = ""
    last_seen_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """A relation as a file states it, between ids.

    Attributes:
        source: Id of the tool it starts from.
        target: Id of the tool it leads to.
        kind: How they relate.
        required: Of `depends_on`: whether the source cannot do without the target.
        confidence: As the file gives it; says something only where there is no evidence.
        reason: Why it holds.
        version: Of `replaces`: since which version.
        deprecated_at: Of `replaces`: when the target became deprecated.
        rejected: Whether an admin said that it does not hold.
        evidence: What speaks for it; empty where the file just states the relation.
        line: Where it stands in the file.
    """

    source: str
    target: str
    kind: Kind
    required: bool = True
    confidence: float | None = None
    reason: str = ""
    version: str = ""
    deprecated_at: date | None = None
    rejected: bool = False
    evidence: tuple[StatedEvidence, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> FileKey:
        """What identifies it; of kinds that hold both ways, the same whichever way it stands."""
        if self.kind in SYMMETRIC and self.target < self.source:
            return (self.target, self.source, self.kind)
        return (self.source, self.target, self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedTool:
    """A tool as a file shows it.

    Attributes:
        id: Canonical id.
        category: Name of its category; empty if it has none.
        metrics: Its place in the shared graph, by name; empty unless asked for.
    """

    id: str
    category: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Document:
    """What is written to a file.

    Attributes:
        tools: Those that relate to others or are filed under a category, by id.
        relations: By source, target and kind.
        team: Name of the team whose view it is; empty is the shared view.
    """

    tools: tuple[StatedTool, ...]
    relations: tuple[Stated, ...]
    team: str = ""


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a file was found to hold.

    Attributes:
        relations: Those that could be read, once each, in order of the file.
        problems: What is wrong, in order of the file; the first `MAX_PROBLEMS`.
        problem_count: How many problems there are.
        warnings: What was left out or looks mistaken, without harm.
    """

    relations: tuple[Stated, ...]
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0
    warnings: tuple[str, ...] = ()


class Problems:
    """The problems of one file: all are counted, and the first of them kept."""

    def __init__(self) -> None:
        self._kept: list[Problem] = []
        self.count = 0

    def add(self, line: int, message: str) -> None:
        """Note one more."""
        self.count += 1
        if len(self._kept) < MAX_PROBLEMS:
            self._kept.append(Problem(line, message))

    @property
    def kept(self) -> tuple[Problem, ...]:
        """Those that were kept, by line."""
        return tuple(sorted(self._kept, key=lambda problem: problem.line))


def shown(value: object, longest: int = 80) -> str:
    r"""Write a value of a file into a message: on one line, quoted, cut, printable anywhere.

    Example:
        >>> shown("a\nb"), shown(1.5), shown("x" * 100, 5)
        ("'a\\nb'", '1.5', "'xxxx…'")
    """
    if isinstance(value, str):
        cut = value if len(value) < longest else value[: longest - 1] + "…"
        return repr(cut).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    written = "null" if value is None else str(value).lower() if value in (True, False) else None
    return written or repr(value)[:longest]
