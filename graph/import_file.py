"""Take relations over from a file, all or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from graph import contradictions, record
from graph.exchange import adopt, read
from graph.exchange.adopt import Left, Terms
from graph.exchange.check import similar
from graph.exchange.document import Problem, Problems, Stated, shown
from graph.record import Record
from graph.relations import Key, Relation
from graph.store import listed, relations

MAX_ORIGIN: Final = 200
MAX_GUESSES: Final = 5
"""Unknown ids that are compared with all others; with 10,000 tools each costs 0.4 s."""
MAX_TOLD: Final = 20
"""Problems that a message names; the rest is counted."""
MAX_WARNINGS: Final = 20
"""Warnings of one sort that are told one by one; the rest is counted."""


class Change(NamedTuple):
    """A relation that an import adds or changes.

    Attributes:
        line: Where it stands in the file.
        source: Id of the tool it starts from.
        target: Id of the tool it leads to.
        kind: How they relate.
        change: `new` or `changed`.
    """

    line: int
    source: str
    target: str
    kind: str
    change: str


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What an import did, or would do.

    Attributes:
        filename: What was imported.
        dry_run: Whether nothing was stored.
        changes: Relations that are new or changed, in order of the file.
        same: Relations that are stored already just as the file has them.
        left_out: Relations that were not taken over; the warnings say why.
        warnings: What the person should know.
    """

    filename: str
    dry_run: bool
    changes: tuple[Change, ...]
    same: int
    left_out: int
    warnings: tuple[str, ...]

    @property
    def added(self) -> int:
        """Count the new relations."""
        return sum(change.change == "new" for change in self.changes)

    @property
    def changed(self) -> int:
        """Count the changed relations."""
        return len(self.changes) - self.added


class ImportRefused(Exception):
    """A file that was not imported; nothing of it was stored.

    Attributes:
        problems: What is wrong, by line; the first `MAX_TOLD`.
        count: How many problems there are.
    """

    def __init__(self, filename: str, problems: Sequence[Problem], count: int) -> None:
        self.problems = tuple(problems[:MAX_TOLD])
        self.count = max(count, len(self.problems))
        first = self.problems[0] if self.problems else "unknown"
        more = f" (and {self.count - 1:,} more)" if self.count > 1 else ""
        super().__init__(f"{shown(filename)} is not imported: {first}{more}")


def import_text(  # noqa: PLR0913 - each is a choice of the person
    data: str | bytes,
    *,
    filename: str,
    origin: str = "",
    as_curated: bool = False,
    team: int | None = None,
    dry_run: bool = False,
    form: read.Form | None = None,
    skip_unknown: bool = False,
    now: datetime | None = None,
) -> Imported:
    """Import a file of relations: all of it, or nothing where anything in it is wrong.

    Importing it again changes nothing.

    Args:
        data: Its content.
        filename: Its name; the suffix tells its form.
        origin: What the evidence is said to come from; by default the file's name.
        as_curated: Whether an admin vouches for what it says.
        team: Primary key of the team that takes over what was observed; None: it is left out.
        dry_run: Only say what would change.
        form: How it is written; None: as its name or content says.
        skip_unknown: Leave out relations between tools that are not here, instead of refusing.
        now: When; None: this moment.

    Raises:
        ImportRefused: If anything is wrong.
    """
    content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    file = read.read(content, name=filename, form=form)
    terms = Terms(
        origin=(origin or filename)[:MAX_ORIGIN],
        as_curated=as_curated,
        team=team,
        now=now or datetime.now(UTC),
    )
    work = _Import(terms, skip_unknown=skip_unknown)
    for problem in file.problems:
        work.problems.add(*problem)
    work.take(file.relations)
    if work.problems.count:
        uncounted = file.problem_count - len(file.problems)
        raise ImportRefused(filename, work.problems.kept, work.problems.count + uncounted)
    warnings = (*file.warnings, *work.warnings())
    if not dry_run:
        work.store(filename)
    return Imported(
        filename=filename,
        dry_run=dry_run,
        changes=tuple(work.changes),
        same=work.same,
        left_out=work.left_out,
        warnings=warnings,
    )


class _Import:
    """One import: what is stored, what the file adds, and what is wrong with it."""

    def __init__(self, terms: Terms, *, skip_unknown: bool) -> None:
        self._terms = terms
        self._skip_unknown = skip_unknown
        self._listed = listed.tools()
        self._names = {tool.pk: name for name, tool in self._listed.items()}
        self._stored = {one.key: one for one in relations.load()}
        self._lines: dict[Key, int] = {}
        self._wanted: dict[Key, Record] = {}
        self._left: Counter[Left] = Counter()
        self._skipped = 0
        self._notes: list[str] = []
        self._guessed: dict[str, str] = {}
        self.problems = Problems()
        self.changes: list[Change] = []
        self.same = 0

    @property
    def left_out(self) -> int:
        """Count the relations that are not taken over."""
        return self._left.total() + self._skipped

    def take(self, stated: Iterable[Stated]) -> None:
        """Compare relations with what is stored, then look for contradictions."""
        for one in stated:
            if self._is_known(one):
                self._take(one)
        self._contradict()

    def warnings(self) -> Iterable[str]:
        """Say what was left out, and what will not work as it stands there."""
        if self._skipped:
            yield f"{self._skipped:,} relations left out: their tools are not here"
        for left, message in _LEFT.items():
            if self._left[left]:
                yield f"{self._left[left]:,} {message}"
        yield from self._notes[:MAX_WARNINGS]
        if len(self._notes) > MAX_WARNINGS:
            yield f"{len(self._notes) - MAX_WARNINGS:,} more dependencies of cycles are dropped"

    def store(self, filename: str) -> None:
        """Store what is new or differs."""
        try:
            relations.put_many(list(self._wanted.values()), at=self._terms.now)
        except relations.UnknownTools as error:
            gone = ", ".join(shown(self._names.get(tool, tool)) for tool in error.tools[:3])
            problem = Problem(0, f"the tool {gone} was deleted meanwhile; import it again")
            raise ImportRefused(filename, [problem], 1) from None

    def _is_known(self, one: Stated) -> bool:
        unknown = [end for end in (one.source, one.target) if end not in self._listed]
        if unknown and self._skip_unknown:
            self._skipped += 1
            return False
        for end in unknown:
            self.problems.add(one.line, f"no tool {shown(end)}{self._guess(end)}")
        return not unknown

    def _guess(self, unknown: str) -> str:
        if unknown not in self._guessed and len(self._guessed) < MAX_GUESSES:
            near = " or ".join(similar(unknown, self._listed))
            self._guessed[unknown] = f"; did you mean {near}?" if near else ""
        return self._guessed.get(unknown, "")

    def _take(self, one: Stated) -> None:
        source, target = self._listed[one.source].pk, self._listed[one.target].pk
        key = record.ordered(source, target, one.kind)
        stored = self._stored.get(key)
        new = adopt.adopt(one, source=key[0], target=key[1], terms=self._terms, stored=stored)
        if isinstance(new, Left):
            self._left[new] += 1
            return
        if stored is not None and adopt.merged(stored, new) == stored:
            self.same += 1
            return
        self._lines[key] = one.line
        self._wanted[key] = new
        change = "new" if stored is None else "changed"
        self.changes.append(Change(one.line, one.source, one.target, one.kind.value, change))

    def _contradict(self) -> None:
        after = [relation for one in self._after() if (relation := self._seen(one)) is not None]
        for pair in contradictions.contradictions(after, name=self._name):
            lines = [self._lines.get(one.key) for one in (pair.first, pair.second)]
            here = [line for line in lines if line is not None]
            if here:
                at_home = "" if None not in lines else " (the other one is stored already)"
                self.problems.add(max(here), pair.message + at_home)
        found = contradictions.broken_cycles(after, name=self._name)
        before = self._dropped_before() if found else set()
        for cycle in found:
            if cycle.dropped.key not in before:
                line = self._lines.get(cycle.dropped.key)
                self._notes.append(f"line {line}: {cycle.message}" if line else cycle.message)

    def _dropped_before(self) -> set[Key]:
        """Return the dependencies that close a cycle already, without the file."""
        seen = (self._seen(one) for one in self._stored.values())
        stored = [relation for relation in seen if relation is not None]
        return {cut.key for cut in contradictions.dropped(stored)}

    def _after(self) -> Iterable[Record]:
        """Yield all relations as they would be stored."""
        for key, stored in self._stored.items():
            new = self._wanted.get(key)
            yield stored if new is None else adopt.merged(stored, new)
        for key, new in self._wanted.items():
            if key not in self._stored:
                yield new

    def _seen(self, one: Record) -> Relation | None:
        return record.view(one, self._terms.team, now=self._terms.now)

    def _name(self, tool: int) -> str:
        return self._names.get(tool, f"tool {tool}")


_LEFT: Final[Mapping[Left, str]] = {
    Left.OBSERVED: "relations left out: teams observed them, and no team was named to take over",
    Left.REJECTION: "rejections left out: only an import as curated takes them over",
    Left.REJECTED_HERE: "relations left out: an admin rejected them here",
}
