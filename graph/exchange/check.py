"""Collect the rows of a file as relations, and find problems among them."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from graph.exchange import fields
from graph.exchange.document import (
    FileKey,
    ImportProblems,
    ParsedDocument,
    StatedRelation,
    quote_value,
)
from graph.exchange.fields import EVIDENCE_FIELDS, RELATION_FIELDS

MAX_RELATIONS: Final = 250_000
"""Relations of a file, valid or not."""
MAX_UNKNOWN_FIELDS: Final = 20
"""Unknown fields that are reported."""
MAX_COMPARED_CHARS: Final = 200
"""Characters of an unknown id that are compared; comparing costs their square."""


class TooManyRelations(Exception):
    """A file with too many relations."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_RELATIONS:,} relations; split the file")


class RelationCollector:
    """Collects the relations of one file, with problems and warnings."""

    def __init__(self) -> None:
        self.problems = ImportProblems()
        self._relations: dict[FileKey, StatedRelation] = {}
        self._unknown_fields: Counter[str] = Counter()
        self._unknown_lines: dict[str, int] = {}
        self._rows = self._filed = self._repeated = 0
        self._warnings: list[str] = []

    def add_row(self, line: int, row: Mapping[str, Any]) -> None:
        """Add one row.

        Raises:
            TooManyRelations: Beyond `MAX_RELATIONS`.
        """
        self._count_row()
        if fields.is_category_row(row):
            self._filed += 1
            return
        wrong: list[str] = []
        stated = fields.read_relation(row, line=line, wrong=wrong)
        for message in wrong:
            self.problems.add_problem(line, message)
        self._note_unknown_fields(line, row)
        if stated is not None:
            self._keep_relation(stated)
            if fields.is_parameter_source(row):
                self._keep_relation(fields.read_data_flow(stated))

    def add_problem(self, line: int, message: str) -> None:
        """Record a problem in place of a relation.

        Raises:
            TooManyRelations: Beyond `MAX_RELATIONS`.
        """
        self._count_row()
        self.problems.add_problem(line, message)

    def add_warning(self, warning: str) -> None:
        """Add a warning about something harmless."""
        self._warnings.append(warning)

    def build_result(self) -> ParsedDocument:
        """Return the collected document."""
        return ParsedDocument(
            relations=tuple(self._relations.values()),
            problems=self.problems.first_problems,
            problem_count=self.problems.count,
            warnings=tuple(self._iterate_warnings()),
        )

    def _count_row(self) -> None:
        self._rows += 1
        if self._rows > MAX_RELATIONS:
            raise TooManyRelations

    def _keep_relation(self, stated: StatedRelation) -> None:
        first = self._relations.setdefault(stated.file_key, stated)
        if first is stated:
            return
        if _comparable_content(first) == _comparable_content(stated):
            self._repeated += 1
            return
        self.problems.add_problem(
            stated.line,
            f"{_describe_relation(stated)} is also in line {first.line}, with other values; keep "
            "one",
        )

    def _note_unknown_fields(self, line: int, row: Mapping[str, Any]) -> None:
        unknown = [key for key in row if key not in RELATION_FIELDS]
        evidence = row.get("evidence")
        for item in evidence if isinstance(evidence, list) else ():
            if isinstance(item, dict):
                unknown += [f"evidence.{key}" for key in item if key not in EVIDENCE_FIELDS]
        for key in unknown:
            if key in self._unknown_fields or len(self._unknown_fields) < MAX_UNKNOWN_FIELDS:
                self._unknown_fields[key] += 1
                self._unknown_lines.setdefault(key, line)

    def _iterate_warnings(self) -> Iterable[str]:
        yield from self._warnings
        for key, count in self._unknown_fields.items():
            near = difflib.get_close_matches(key[:100], RELATION_FIELDS, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            times = f"; {count:,} times in all" if count > 1 else ""
            yield (
                f"line {self._unknown_lines[key]}: unknown field {quote_value(key)} "
                f"ignored{hint}{times}"
            )
        if self._repeated:
            yield f"{self._repeated:,} relations are given more than once, with the same values"
        if self._filed:
            yield (f"{self._filed:,} edges to categories ignored: tools are filed in the console")


def find_similar_ids(tool_id: str, known: Collection[str]) -> tuple[str, ...]:
    """Return up to three known ids that look like an unknown one, best first.

    Example:
        >>> find_similar_ids("git:log", ["git:git_log", "time:convert_time"])
        ('git:git_log',)
    """
    wanted = tool_id[:MAX_COMPARED_CHARS].casefold().replace("__", ":", 1)
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(wanted, folded, n=3, cutoff=0.6)
    return tuple(folded[name] for name in near)


def _comparable_content(stated: StatedRelation) -> tuple[Any, ...]:
    return (
        *(stated.required, stated.confidence, stated.reason, stated.version),
        *(stated.deprecated_at, stated.rejected, stated.evidence),
    )


def _describe_relation(stated: StatedRelation) -> str:
    return f"{quote_value(stated.source)} {stated.kind} {quote_value(stated.target)}"
