"""Take past runs over from a file: each run once, what is wrong told by its line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from graph import history_lines, read_runs, record_runs
from graph.exchange.check import similar
from graph.exchange.document import Problem, Problems
from graph.patterns import InvalidRun, PastRun, UnknownTool
from graph.read_runs import ReadRun
from graph.record_runs import MAX_SAMPLED, Means, Recorded
from graph.store import called, listed, recording
from tools import ids
from tools.query_text import QueryError

MAX_BYTES: Final = 500_000_000
CHUNK_LINES: Final = 1_000
"""Lines held in memory as runs at once."""

MAX_GUESSES: Final = 5
"""Unknown ids that are compared with all others; with 10,000 tools each costs 0.4 s."""

Progress = Callable[[int, int], None]


class HistoryRefused(Exception):
    """A file in which nothing can be read; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What an import did, or would do.

    Attributes:
        dry_run: Whether nothing was stored.
        recorded: What was recorded; of a dry run, only what is new and what repeated.
        problems: Lines that were not imported, and why; the first thousand.
        problem_count: How many there are.
        without_arguments: Runs taken over without arguments, whose form is not known.
        cut: Runs whose intent is longer than what is read of one.
    """

    dry_run: bool
    recorded: Recorded
    problems: tuple[Problem, ...]
    problem_count: int
    without_arguments: int = 0
    cut: int = 0


def import_history(
    content: bytes,
    means: Means,
    *,
    now: datetime,
    dry_run: bool = False,
    on_progress: Progress = lambda _done, _all: None,
) -> Imported:
    """Record the runs of a file, one a line; see `history_lines`.

    Every line that can be recorded is, some at a time; one that cannot is told and passed over.
    Importing the file again records what is left and changes nothing else.

    Args:
        content: Of the file.
        means: Whose runs these are, and with what they are recorded.
        now: Time of runs that do not say when they were.
        dry_run: Only say what would be recorded.
        on_progress: Told how many lines are done, and of how many.

    Raises:
        HistoryRefused: If there is nothing in it, or it is too long.
        TeamGone: If there is no such team.
    """
    if len(content) > MAX_BYTES:
        raise HistoryRefused(f"it is longer than {MAX_BYTES // 1_000_000:,} MB; split it")
    if not content.strip():
        raise HistoryRefused("it is empty; a run is one line of JSON")
    total = content.count(b"\n") + (not content.endswith(b"\n"))
    work = _Import(means, now=now, dry_run=dry_run, sampled_from=total - MAX_SAMPLED)
    on_progress(0, total)
    lines = enumerate(_lines(content.removeprefix(b"\xef\xbb\xbf")), start=1)
    done = 0
    while chunk := list(islice(lines, CHUNK_LINES)):
        work.take(chunk)
        done += len(chunk)
        on_progress(min(done, total), total)
    return work.result()


class _Import:
    """One import, some lines at a time."""

    def __init__(self, means: Means, *, now: datetime, dry_run: bool, sampled_from: int) -> None:
        self._means = means
        self._now = now
        self._dry_run = dry_run
        self._sampled_from = sampled_from  # files have the newest runs last
        self._ids = {name: tool.pk for name, tool in listed.tools().items()}
        self._names = _names(self._ids)
        self._tools = called.tools(set(self._names.values()))
        self._private = called.private(self._tools)
        self._problems = Problems()
        self._guesses: dict[str, str] = {}
        self._recorded = Recorded()
        self._without_arguments = 0
        self._cut = 0
        self._seen: set[str] = set()

    def take(self, lines: Sequence[tuple[int, bytes]]) -> None:
        """Record what can be of some lines."""
        read = list(self._read(lines))
        self._cut += sum(one.reading.is_cut for one in read)
        if self._dry_run:
            self._recorded += self._would_be(read)
            return
        is_new = lines[-1][0] > self._sampled_from
        sampled = {one.run.key for one in read} if is_new else ()
        self._recorded += record_runs.record_read(
            read, self._means, tools=self._tools, sampled=sampled
        )

    def result(self) -> Imported:
        """Return what was done."""
        return Imported(
            dry_run=self._dry_run,
            recorded=self._recorded,
            problems=tuple(self._problems.kept),
            problem_count=self._problems.count,
            without_arguments=self._without_arguments,
            cut=self._cut,
        )

    def _read(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[ReadRun]:
        for number, line in lines:
            if not line or line.isspace():
                continue
            try:
                run, is_partial = history_lines.run_of(line, tools=self._names, now=self._now)
                yield self._checked(run)
            except (InvalidRun, QueryError) as error:
                self._problems.add(number, self._told(error))
            else:
                self._without_arguments += is_partial

    def _checked(self, run: PastRun) -> ReadRun:
        means = self._means
        return read_runs.read(
            run,
            team=means.team,
            tools=self._tools,
            private=self._private,
            sealer=means.sealer,
        )

    def _told(self, error: Exception) -> str:
        """Say what is wrong, and of the first tools that are unknown which may be meant."""
        if not isinstance(error, UnknownTool):
            return str(error)
        message, unknown = str(error), error.tool
        if unknown not in self._guesses and len(self._guesses) < MAX_GUESSES:
            named = [one for one in self._ids if ids.split(one)[1] == unknown]
            near = " or ".join(named[:MAX_GUESSES] or similar(unknown, self._ids))
            self._guesses[unknown] = f"; did you mean {near}?" if near else ""
        return message + self._guesses.get(unknown, "")

    def _would_be(self, read: Iterable[ReadRun]) -> Recorded:
        keys = [one.run.key for one in read]
        known = recording.known_keys(self._means.team, keys) | self._seen
        new = set(keys) - known
        self._seen |= new
        return Recorded(new=len(new), repeated=len(keys) - len(new))


def _names(tools: Mapping[str, int]) -> dict[str, int]:
    """Return tools by canonical id, and by their name alone where no other has it."""
    halves = {name: ids.split(name)[1] for name in tools}
    count = Counter(halves.values())
    alone = {half: tools[name] for name, half in halves.items() if count[half] == 1}
    return alone | dict(tools)


def _lines(content: bytes) -> Iterator[bytes]:
    """Yield the lines one by one, since all of them at once take many times their text."""
    start = 0
    while (end := content.find(b"\n", start)) >= 0:
        yield content[start:end]
        start = end + 1
    if start < len(content):
        yield content[start:]
