"""Gather the rows of a file into relations, and find what is wrong among them."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from graph.exchange import fields
from graph.exchange.document import FileKey, Problems, Read, Stated, shown
from graph.exchange.fields import EVIDENCE_FIELDS, RELATION_FIELDS

MAX_RELATIONS: Final = 250_000
"""Relations of a file, good and bad ones."""
MAX_STRANGE: Final = 20
"""Names of unknown fields that are told."""
MAX_COMPARED: Final = 200
"""Characters of an unknown id that are compared; comparing costs their square."""


class TooMany(Exception):
    """A file of more relations than are read at once."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_RELATIONS:,} relations; split the file")


class Gathering:
    """The relations of one file as they are read, with what is wrong and what is odd.

    Attributes:
        problems: What keeps the file from being imported.
    """

    def __init__(self, known_fields: Collection[str] = RELATION_FIELDS) -> None:
        self.problems = Problems()
        self._known = frozenset(known_fields)
        self._relations: dict[FileKey, Stated] = {}
        self._strange: Counter[str] = Counter()
        self._strange_at: dict[str, int] = {}
        self._rows = self._filed = self._repeated = 0
        self._notes: list[str] = []

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Take in one row.

        Raises:
            TooMany: Beyond `MAX_RELATIONS`.
        """
        self._count()
        if fields.is_filing(row):
            self._filed += 1
            return
        wrong: list[str] = []
        stated = fields.relation(row, line=line, wrong=wrong)
        for message in wrong:
            self.problems.add(line, message)
        self._note_strange(line, row)
        if stated is not None:
            self._keep(stated)
            if fields.feeds_parameter(row):
                self._keep(fields.data_flow(stated))

    def refuse(self, line: int, message: str) -> None:
        """Note what stands where a relation should.

        Raises:
            TooMany: Beyond `MAX_RELATIONS`.
        """
        self._count()
        self.problems.add(line, message)

    def note(self, warning: str) -> None:
        """Warn of something that does no harm."""
        self._notes.append(warning)

    def result(self) -> Read:
        """Return what was read."""
        return Read(
            relations=tuple(self._relations.values()),
            problems=self.problems.kept,
            problem_count=self.problems.count,
            warnings=tuple(self._warnings()),
        )

    def _count(self) -> None:
        self._rows += 1
        if self._rows > MAX_RELATIONS:
            raise TooMany

    def _keep(self, stated: Stated) -> None:
        first = self._relations.setdefault(stated.key, stated)
        if first is stated:
            return
        if _content(first) == _content(stated):
            self._repeated += 1
            return
        self.problems.add(
            stated.line,
            f"{_named(stated)} stands in line {first.line} too, with other values; keep one",
        )

    def _note_strange(self, line: int, row: Mapping[str, Any]) -> None:
        strange = [key for key in row if key not in self._known]
        evidence = row.get("evidence")
        for item in evidence if isinstance(evidence, list) else ():
            if isinstance(item, dict):
                strange += [f"evidence.{key}" for key in item if key not in EVIDENCE_FIELDS]
        for key in strange:
            if key in self._strange or len(self._strange) < MAX_STRANGE:
                self._strange[key] += 1
                self._strange_at.setdefault(key, line)

    def _warnings(self) -> Iterable[str]:
        yield from self._notes
        for key, count in self._strange.items():
            near = difflib.get_close_matches(key[:100], RELATION_FIELDS, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            times = f"; {count:,} times in all" if count > 1 else ""
            yield f"line {self._strange_at[key]}: unknown field {shown(key)} ignored{hint}{times}"
        if self._repeated:
            yield f"{self._repeated:,} relations stand there more than once, with the same values"
        if self._filed:
            yield (f"{self._filed:,} edges to categories ignored: tools are filed in the console")


def similar(tool_id: str, known: Collection[str]) -> tuple[str, ...]:
    """Return up to three known ids that look like an unknown one, best first.

    Example:
        >>> similar("git:log", ["git:git_log", "time:convert_time"])
        ('git:git_log',)
    """
    wanted = tool_id[:MAX_COMPARED].casefold().replace("__", ":", 1)
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(wanted, folded, n=3, cutoff=0.6)
    return tuple(folded[name] for name in near)


def _content(stated: Stated) -> tuple[Any, ...]:
    return (
        *(stated.required, stated.confidence, stated.reason, stated.version),
        *(stated.deprecated_at, stated.rejected, stated.evidence),
    )


def _named(stated: Stated) -> str:
    return f"{shown(stated.source)} {stated.kind} {shown(stated.target)}"
