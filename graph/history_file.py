"""Import past runs from a file, each once; problems are reported by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from graph import history_lines, read_runs, record_runs
from graph.exchange.check import find_similar_ids
from graph.exchange.document import ImportProblem, ImportProblems
from graph.patterns import InvalidRun, PastRun, UnknownRunTool
from graph.record_runs import RecordingDependencies
from graph.store import names, recording, team_names
from graph.store.recording import RecordableRun, RecordedRuns
from tools import ids
from tools.query_text import QueryError

MAX_BYTES: Final = 500_000_000
CHUNK_LINES: Final = 1_000
"""Lines parsed and recorded at a time."""

MAX_GUESSES: Final = 5
"""Unknown ids for which similar ones are searched; each costs 0.4 s with 10,000 tools."""

ProgressCallback = Callable[[int, int], None]


class HistoryRefused(Exception):
    """A file that cannot be read at all; the message says why."""


@dataclass(frozen=True, kw_only=True)
class ImportedHistory:
    """The outcome of an import or of its dry run.

    Attributes:
        dry_run: Whether nothing was stored.
        recorded: What was recorded; for a dry run only the new and repeated runs.
        without_argument_count: Runs imported without arguments, whose form is unknown.
        truncated_count: Runs whose intent was truncated.
    """

    dry_run: bool
    recorded: RecordedRuns
    problems: tuple[ImportProblem, ...]
    problem_count: int
    without_argument_count: int = 0
    truncated_count: int = 0


def import_history(
    content: bytes,
    dependencies: RecordingDependencies,
    *,
    now: datetime,
    dry_run: bool = False,
    on_progress: ProgressCallback = lambda _done, _all: None,
) -> ImportedHistory:
    """Record the runs of a file, one per line; see `history_lines`.

    Valid lines are recorded in chunks; invalid ones are reported and skipped. Importing the file
    again records only what is missing.

    Raises:
        HistoryRefused: If the file is empty or too long.
        TeamDeleted: If the team does not exist.
    """
    if len(content) > MAX_BYTES:
        raise HistoryRefused(f"it is longer than {MAX_BYTES // 1_000_000:,} MB; split it")
    if not content.strip():
        raise HistoryRefused("it is empty; a run is one line of JSON")
    total = content.count(b"\n") + (not content.endswith(b"\n"))
    history = _HistoryImport(dependencies, now=now, dry_run=dry_run)
    on_progress(0, total)
    lines = enumerate(_iterate_lines(content.removeprefix(b"\xef\xbb\xbf")), start=1)
    done = 0
    while chunk := list(islice(lines, CHUNK_LINES)):
        history.import_lines(chunk)
        done += len(chunk)
        on_progress(min(done, total), total)
    return history.build_result()


class _HistoryImport:
    """One import, in chunks of lines."""

    def __init__(
        self,
        dependencies: RecordingDependencies,
        *,
        now: datetime,
        dry_run: bool,
    ) -> None:
        self._dependencies = dependencies
        self._now = now
        self._dry_run = dry_run
        self._ids = {name: tool.pk for name, tool in names.load_listed_tools().items()}
        self._names = _index_tool_names(self._ids)
        self._tools = team_names.load_tool_names(set(self._names.values()))
        self._private = team_names.load_private_teams(self._tools)
        self._problems = ImportProblems()
        self._guesses: dict[str, str] = {}
        self._recorded = RecordedRuns()
        self._without_arguments = 0
        self._truncated = 0
        self._seen: set[str] = set()

    def import_lines(self, lines: Sequence[tuple[int, bytes]]) -> None:
        """Record the valid runs of some lines."""
        runs = list(self._read_runs(lines))
        self._truncated += sum(run.reading.is_cut for run in runs)
        if self._dry_run:
            self._recorded += self._simulate_recording(runs)
            return
        self._recorded += record_runs.record_recordable_runs(
            runs, self._dependencies, tools=self._tools
        )

    def build_result(self) -> ImportedHistory:
        """Return the outcome."""
        return ImportedHistory(
            dry_run=self._dry_run,
            recorded=self._recorded,
            problems=tuple(self._problems.first_problems),
            problem_count=self._problems.count,
            without_argument_count=self._without_arguments,
            truncated_count=self._truncated,
        )

    def _read_runs(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[RecordableRun]:
        for number, line in lines:
            if not line or line.isspace():
                continue
            try:
                run, is_partial = history_lines.parse_run(line, tools=self._names, now=self._now)
                yield self._check_run(run)
            except (InvalidRun, QueryError) as error:
                self._problems.add_problem(number, self._explain_error(error))
            else:
                self._without_arguments += is_partial

    def _check_run(self, run: PastRun) -> RecordableRun:
        dependencies = self._dependencies
        return read_runs.read_run(
            run,
            team=dependencies.team,
            tools=self._tools,
            private=self._private,
            sealer=dependencies.sealer,
        )

    def _explain_error(self, error: Exception) -> str:
        """Describe an error; for the first unknown tools suggest similar ones."""
        if not isinstance(error, UnknownRunTool):
            return str(error)
        message, unknown = str(error), error.tool
        if unknown not in self._guesses and len(self._guesses) < MAX_GUESSES:
            same_name = [tool_id for tool_id in self._ids if ids.split_id(tool_id)[1] == unknown]
            similar = " or ".join(same_name[:MAX_GUESSES] or find_similar_ids(unknown, self._ids))
            self._guesses[unknown] = f"; did you mean {similar}?" if similar else ""
        return message + self._guesses.get(unknown, "")

    def _simulate_recording(self, runs: Iterable[RecordableRun]) -> RecordedRuns:
        keys = [run.run.key for run in runs]
        known = recording.load_known_keys(self._dependencies.team, keys) | self._seen
        new = set(keys) - known
        self._seen |= new
        return RecordedRuns(new_runs=len(new), repeated_runs=len(keys) - len(new))


def _index_tool_names(tools: Mapping[str, int]) -> dict[str, int]:
    """Return tools by canonical id, and by their bare name if it is unique."""
    bare_names = {name: ids.split_id(name)[1] for name in tools}
    count = Counter(bare_names.values())
    unique = {
        bare_name: tools[name] for name, bare_name in bare_names.items() if count[bare_name] == 1
    }
    return unique | dict(tools)


def _iterate_lines(content: bytes) -> Iterator[bytes]:
    """Yield lines lazily: a list of all would take several times the memory of the text."""
    start = 0
    while (end := content.find(b"\n", start)) >= 0:
        yield content[start:end]
        start = end + 1
    if start < len(content):
        yield content[start:]
