"""The content of a file of relations, independent of its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from graph.relations import EvidenceSource, RelationKind

FORMAT: Final = "foregate-graph"
VERSION: Final = 1
BELONGS_TO: Final = "belongs_to"
"""Kind of the edge from a tool to its category; in files only, not a relation."""
CATEGORY_PREFIX: Final = ":"
"""First character of a category's id in a file; no tool's id begins with it."""
MAX_PROBLEMS: Final = 1_000
"""Problems that are kept; further ones are only counted."""

FileKey = tuple[str, str, RelationKind]


class ImportProblem(NamedTuple):
    """A problem that prevents the import of a file.

    Attributes:
        line: Line from 1; 0: the file as a whole.
    """

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedEvidence:
    """The evidence of one source for a relation, as stated in a file.

    Attributes:
        confidence: Of the source itself, in [0, 1]; None where only counts speak.
        seconds: Of `precedes`, average time between the two.
        fields: Of `provides`, which output feeds which input, as JSON pointers.
        team: Name of the team whose observation it is; empty is everybody's.
        last_seen_at: When it was counted or said last.
    """

    source: EvidenceSource
    confidence: float | None = None
    successes: float = 0.0
    failures: float = 0.0
    seconds: float | None = None
    fields: tuple[Mapping[str, Any], ...] = ()
    origin: str = ""
    team: str = ""
    last_seen_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedRelation:
    """A relation between ids, as stated in a file.

    Attributes:
        source: Id of the tool it starts from.
        target: Id of the tool it leads to.
        required: Of `depends_on`: whether the source cannot do without the target.
        confidence: As the file gives it; says something only where there is no evidence.
        version: Of `replaces`: since which version.
        deprecated_at: Of `replaces`: when the target became deprecated.
        rejected: Whether an admin said that it does not hold.
        evidence: What speaks for it; empty where the file just states the relation.
    """

    source: str
    target: str
    kind: RelationKind
    required: bool = True
    confidence: float | None = None
    reason: str = ""
    version: str = ""
    deprecated_at: date | None = None
    rejected: bool = False
    evidence: tuple[StatedEvidence, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def file_key(self) -> FileKey:
        """The identifying key; the same in both directions for symmetric kinds."""
        return (*self.kind.settle_ends(self.source, self.target), self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedTool:
    """A tool as listed in a file.

    Attributes:
        category: Name of its category; empty if it has none.
        metrics: Its place in the shared graph, by name; empty unless asked for.
    """

    id: str
    category: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GraphDocument:
    """The content to write to a file.

    Attributes:
        tools: Tools with relations or a category, sorted by id.
        relations: Sorted by source, target and kind.
        team: Name of the team whose view it is; empty: the shared view.
    """

    tools: tuple[StatedTool, ...]
    relations: tuple[StatedRelation, ...]
    team: str = ""


@dataclass(frozen=True, kw_only=True)
class ParsedDocument:
    """The content read from a file.

    Attributes:
        problems: Problems in file order; the first `MAX_PROBLEMS`.
        problem_count: Number of all problems.
        warnings: Harmless omissions and likely mistakes.
    """

    relations: tuple[StatedRelation, ...]
    problems: tuple[ImportProblem, ...] = ()
    problem_count: int = 0
    warnings: tuple[str, ...] = ()


class ImportProblems:
    """The problems of one file: all are counted, the first ones kept."""

    def __init__(self) -> None:
        self._kept: list[ImportProblem] = []
        self.count = 0

    def add_problem(self, line: int, message: str) -> None:
        """Add a problem."""
        self.count += 1
        if len(self._kept) < MAX_PROBLEMS:
            self._kept.append(ImportProblem(line, message))

    @property
    def first_problems(self) -> tuple[ImportProblem, ...]:
        """The problems kept, sorted by line."""
        return tuple(sorted(self._kept, key=lambda problem: problem.line))


def quote_value(value: object, longest: int = 80) -> str:
    r"""Quote a value of a file for a message: on one line, truncated, printable anywhere.

    Example:
        >>> quote_value("a\nb"), quote_value(1.5), quote_value("x" * 100, 5)
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
