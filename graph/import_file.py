"""Import relations from a file, all or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from graph import contradictions, record
from graph.exchange import adopt, read
from graph.exchange.adopt import ImportPolicy, OmissionReason
from graph.exchange.check import find_similar_ids
from graph.exchange.document import ImportProblem, ImportProblems, StatedRelation, quote_value
from graph.record import RelationRecord
from graph.relations import Relation, RelationKey
from graph.store import names, relations

MAX_ORIGIN: Final = 200
MAX_GUESSES: Final = 5
"""Unknown ids for which similar ones are searched; each costs 0.4 s with 10,000 tools."""
MAX_NAMED_PROBLEMS: Final = 20
"""Problems listed in an error; the rest are counted."""
MAX_WARNINGS: Final = 20
"""Warnings about cycles that are listed; the rest are counted."""


class RelationChange(NamedTuple):
    """A relation that an import adds or changes.

    Attributes:
        change: `new` or `changed`.
    """

    line: int
    source: str
    target: str
    kind: str
    change: str


@dataclass(frozen=True, kw_only=True)
class ImportedRelations:
    """The outcome of an import or of its dry run.

    Attributes:
        dry_run: Whether nothing was stored.
        changes: New and changed relations, in file order.
        left_out: Number of relations not imported; the warnings say why.
        warnings: Messages for the person who imports.
    """

    filename: str
    dry_run: bool
    changes: tuple[RelationChange, ...]
    same: int
    left_out: int
    warnings: tuple[str, ...]

    @property
    def added(self) -> int:
        """Number of new relations."""
        return sum(change.change == "new" for change in self.changes)

    @property
    def changed(self) -> int:
        """Number of changed relations."""
        return len(self.changes) - self.added


class ImportRefused(Exception):
    """A file that was not imported; nothing was stored."""

    def __init__(self, filename: str, problems: Sequence[ImportProblem], count: int) -> None:
        self.problems = tuple(problems[:MAX_NAMED_PROBLEMS])
        self.count = max(count, len(self.problems))
        first = self.problems[0] if self.problems else "unknown"
        more = f" (and {self.count - 1:,} more)" if self.count > 1 else ""
        super().__init__(f"{quote_value(filename)} is not imported: {first}{more}")


def import_relations(  # noqa: PLR0913 - each is a choice of the person
    data: str | bytes,
    *,
    filename: str,
    origin: str = "",
    as_curated: bool = False,
    team: int | None = None,
    dry_run: bool = False,
    form: read.GraphFormat | None = None,
    skip_unknown: bool = False,
    now: datetime | None = None,
) -> ImportedRelations:
    """Import a file of relations, entirely or, if it has any problem, not at all.

    Idempotent.

    Args:
        data: Content of the file.
        filename: Its name; the suffix determines its format.
        origin: Origin of the evidence; by default the file's name.
        as_curated: Whether an admin vouches for the file.
        team: Primary key of the team that adopts observed evidence; None: it is left out.
        dry_run: Only report what would change.
        form: Format of the file; None: detected by name or content.
        skip_unknown: Leave out relations of unknown tools instead of refusing the file.
        now: Time of the import; None: the current time.

    Raises:
        ImportRefused: If the file has any problem.
    """
    content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    file = read.read_file(content, name=filename, form=form)
    policy = ImportPolicy(
        origin=(origin or filename)[:MAX_ORIGIN],
        trust_as_curated=as_curated,
        team=team,
        now=now or datetime.now(UTC),
    )
    relation_import = _RelationImport(policy, skip_unknown=skip_unknown)
    for problem in file.problems:
        relation_import.problems.add_problem(*problem)
    relation_import.compare_relations(file.relations)
    if relation_import.problems.count:
        uncounted = file.problem_count - len(file.problems)
        raise ImportRefused(
            filename,
            relation_import.problems.first_problems,
            relation_import.problems.count + uncounted,
        )
    warnings = (*file.warnings, *relation_import.iterate_warnings())
    if not dry_run:
        relation_import.store_changes(filename)
    return ImportedRelations(
        filename=filename,
        dry_run=dry_run,
        changes=tuple(relation_import.changes),
        same=relation_import.same,
        left_out=relation_import.left_out,
        warnings=warnings,
    )


class _RelationImport:
    """One import: stored relations, changes by the file, and its problems."""

    def __init__(self, policy: ImportPolicy, *, skip_unknown: bool) -> None:
        self._policy = policy
        self._skip_unknown = skip_unknown
        self._listed = names.load_listed_tools()
        self._names = {tool.pk: name for name, tool in self._listed.items()}
        self._stored = {one.key: one for one in relations.load()}
        self._lines: dict[RelationKey, int] = {}
        self._wanted: dict[RelationKey, RelationRecord] = {}
        self._omitted: Counter[OmissionReason] = Counter()
        self._skipped = 0
        self._cycle_warnings: list[str] = []
        self._hints: dict[str, str] = {}
        self.problems = ImportProblems()
        self.changes: list[RelationChange] = []
        self.same = 0

    @property
    def left_out(self) -> int:
        """Number of relations that are not imported."""
        return self._omitted.total() + self._skipped

    def compare_relations(self, stated: Iterable[StatedRelation]) -> None:
        """Compare relations with the stored ones, then find contradictions."""
        for relation in stated:
            if self._check_tools_known(relation):
                self._compare_relation(relation)
        self._check_contradictions()

    def iterate_warnings(self) -> Iterable[str]:
        """Yield warnings about omitted relations and dropped dependencies."""
        if self._skipped:
            yield f"{self._skipped:,} relations left out: their tools are not here"
        for reason, message in _OMISSION_MESSAGES.items():
            if self._omitted[reason]:
                yield f"{self._omitted[reason]:,} {message}"
        yield from self._cycle_warnings[:MAX_WARNINGS]
        if len(self._cycle_warnings) > MAX_WARNINGS:
            more = len(self._cycle_warnings) - MAX_WARNINGS
            yield f"{more:,} more dependencies of cycles are dropped"

    def store_changes(self, filename: str) -> None:
        """Store new and changed relations."""
        try:
            relations.put_many(list(self._wanted.values()), at=self._policy.now)
        except relations.ToolsNotFound as error:
            gone = ", ".join(quote_value(self._names.get(tool, tool)) for tool in error.tools[:3])
            problem = ImportProblem(0, f"the tool {gone} was deleted meanwhile; import it again")
            raise ImportRefused(filename, [problem], 1) from None

    def _check_tools_known(self, relation: StatedRelation) -> bool:
        unknown = [end for end in (relation.source, relation.target) if end not in self._listed]
        if unknown and self._skip_unknown:
            self._skipped += 1
            return False
        for end in unknown:
            self.problems.add_problem(
                relation.line, f"no tool {quote_value(end)}{self._suggest_similar(end)}"
            )
        return not unknown

    def _suggest_similar(self, unknown: str) -> str:
        if unknown not in self._hints and len(self._hints) < MAX_GUESSES:
            similar = " or ".join(find_similar_ids(unknown, self._listed))
            self._hints[unknown] = f"; did you mean {similar}?" if similar else ""
        return self._hints.get(unknown, "")

    def _compare_relation(self, relation: StatedRelation) -> None:
        source, target = self._listed[relation.source].pk, self._listed[relation.target].pk
        key = record.storage_key(source, target, relation.kind)
        stored = self._stored.get(key)
        new = adopt.adopt_relation(
            relation, source=key[0], target=key[1], policy=self._policy, stored=stored
        )
        if isinstance(new, OmissionReason):
            self._omitted[new] += 1
            return
        if stored is not None and adopt.merge_relation(stored, new) == stored:
            self.same += 1
            return
        self._lines[key] = relation.line
        self._wanted[key] = new
        change = "new" if stored is None else "changed"
        self.changes.append(
            RelationChange(
                relation.line, relation.source, relation.target, relation.kind.value, change
            )
        )

    def _check_contradictions(self) -> None:
        resulting = [
            relation
            for item in self._iterate_resulting()
            if (relation := self._view_relation(item)) is not None
        ]
        for pair in contradictions.find_contradictions(resulting, name=self._tool_name):
            lines = [self._lines.get(item.key) for item in (pair.first, pair.second)]
            known_lines = [line for line in lines if line is not None]
            if known_lines:
                suffix = "" if None not in lines else " (the other one is stored already)"
                self.problems.add_problem(max(known_lines), pair.message + suffix)
        broken = contradictions.find_broken_cycles(resulting, name=self._tool_name)
        previously_dropped = self._previously_dropped() if broken else set()
        for cycle in broken:
            if cycle.dropped_relation.key not in previously_dropped:
                line = self._lines.get(cycle.dropped_relation.key)
                self._cycle_warnings.append(
                    f"line {line}: {cycle.message}" if line else cycle.message
                )

    def _previously_dropped(self) -> set[RelationKey]:
        """Return the dependencies that are dropped without the file already."""
        views = (self._view_relation(item) for item in self._stored.values())
        stored = [relation for relation in views if relation is not None]
        return {dropped.key for dropped in contradictions.dropped_dependencies(stored)}

    def _iterate_resulting(self) -> Iterable[RelationRecord]:
        for key, stored in self._stored.items():
            new = self._wanted.get(key)
            yield stored if new is None else adopt.merge_relation(stored, new)
        for key, new in self._wanted.items():
            if key not in self._stored:
                yield new

    def _view_relation(self, relation: RelationRecord) -> Relation | None:
        return record.view_for_team(relation, self._policy.team, now=self._policy.now)

    def _tool_name(self, tool: int) -> str:
        return self._names.get(tool, f"tool {tool}")


_OMISSION_MESSAGES: Final[Mapping[OmissionReason, str]] = {
    OmissionReason.OBSERVED: (
        "relations left out: teams observed them, and no team was named to take over"
    ),
    OmissionReason.REJECTION: "rejections left out: only an import as curated takes them over",
    OmissionReason.REJECTED_HERE: "relations left out: an admin rejected them here",
}
