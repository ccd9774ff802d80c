"""Record finished runs: what they teach, each once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.sealing import Sealer
from graph import read_runs
from graph.patterns import PastRun
from graph.read_runs import ReadRun
from graph.store import called, recording
from graph.store.recording import Row
from tools.embed.embedder import Embedder, EmbeddingUnavailable

if TYPE_CHECKING:
    from graph.binding.steps import BindTool
    from graph.intent.encoded import Encoded
    from tools.search_index import SearchIndex

CHUNK: Final = 200
"""Runs recorded by one transaction: what an interruption can lose, some seconds' work."""

MAX_SAMPLED: Final = 2_000
"""The newest runs whose values the model of bindings is fitted to."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What was recorded.

    Attributes:
        new: Runs that count from now on.
        repeated: Runs whose key was known already; nothing of them was taken.
        patterns: Patterns that none of the team's runs had shown before.
        unembedded: Patterns of new runs that have no vectors, since the model cannot be loaded:
            they are left out of what is learned until `embed` has run.
    """

    new: int = 0
    repeated: int = 0
    patterns: int = 0
    unembedded: int = 0

    def __add__(self, other: Recorded) -> Recorded:
        """Return what two recordings recorded together."""
        return Recorded(
            new=self.new + other.new,
            repeated=self.repeated + other.repeated,
            patterns=self.patterns + other.patterns,
            unembedded=self.unembedded + other.unembedded,
        )


@dataclass(frozen=True, kw_only=True)
class Means:
    """Whose runs are recorded, and with what.

    Attributes:
        team: Primary key of the team they belong to; None: everybody learns from them.
        embedder: Embeds the intents; None, or one that cannot be loaded: `embed` does it later.
        sealer: Seals what may not stand in clear.
        index: The catalogue in memory, of the embedder's model, by which arguments are put down
            to clauses of the intent; None: they are not.
    """

    team: int | None
    embedder: Embedder | None
    sealer: Sealer
    index: SearchIndex | None = None


def record_runs(
    runs: Sequence[PastRun],
    *,
    team: int | None,
    embedder: Embedder | None,
    sealer: Sealer,
    index: SearchIndex | None = None,
    on_progress: Progress = lambda _done, _all: None,
) -> Recorded:
    """Record what finished runs teach, each run once, however often it is handed in.

    Some hundreds at a time are one transaction: what is interrupted is taken up where it was by
    handing in the same again. It is safe in several processes at once.

    Args:
        runs: In any order; of two with one key the first counts.
        team: As in `Means`.
        embedder: Likewise.
        sealer: Likewise.
        index: Likewise.
        on_progress: Told how many runs are done, and of how many.

    Raises:
        InvalidRun: If a run cannot be recorded, or names a tool that is not there; then none is.
        QueryError: If an intent says nothing; likewise.
        TeamGone: If there is no such team.
    """
    means = Means(team=team, embedder=embedder, sealer=sealer, index=index)
    tools = called.tools({task.tool for run in runs for task in run.tasks})
    private = called.private(tools)
    read = [
        read_runs.read(run, team=team, tools=tools, private=private, sealer=sealer) for run in runs
    ]
    newest = sorted(read, key=lambda one: one.run.at)[-MAX_SAMPLED:]
    sampled = frozenset(one.run.key for one in newest)
    return record_read(read, means, tools=tools, sampled=sampled, on_progress=on_progress)


def record_read(
    read: Sequence[ReadRun],
    means: Means,
    *,
    tools: Mapping[int, BindTool],
    sampled: Collection[str],
    on_progress: Progress = lambda _done, _all: None,
) -> Recorded:
    """Record runs that have been read, as `record_runs` does.

    Args:
        read: The runs.
        means: Whose they are, and with what.
        tools: All that they called, by primary key.
        sampled: Keys of the runs whose values the model of bindings may be fitted to: the newest
            `MAX_SAMPLED` will do, and going through the values is most of the work.
        on_progress: Told how many are done, and of how many.

    Raises:
        TeamGone: If there is no such team.
    """
    done = Recorded()
    on_progress(0, len(read))
    for start in range(0, len(read), CHUNK):
        chunk = read[start : start + CHUNK]
        done += _record(chunk, means, tools, sampled)
        on_progress(start + len(chunk), len(read))
    return done


def _record(
    read: Sequence[ReadRun],
    means: Means,
    tools: Mapping[int, BindTool],
    sampled: Collection[str],
) -> Recorded:
    known = recording.known_keys(means.team, {one.run.key for one in read})
    fresh = [one for one in read if one.run.key not in known]
    encoded = _encoded(fresh, means)
    rows = [_row(one, encoded.get(one.reading.text), means, tools, sampled) for one in fresh]
    model = means.embedder.model if means.embedder else ""
    stored = recording.record(rows, team=means.team, model=model, sealer=means.sealer)
    return Recorded(
        new=stored.runs,
        repeated=len(read) - stored.runs,
        patterns=stored.patterns,
        unembedded=stored.unembedded,
    )


def _row(
    one: ReadRun,
    encoded: Encoded | None,
    means: Means,
    tools: Mapping[int, BindTool],
    sampled: Collection[str],
) -> Row:
    values = b""
    if encoded is not None and means.index is not None and one.run.key in sampled:
        values = read_runs.sample(one, encoded=encoded, tools=tools, index=means.index)
    uses = read_runs.uses(one, team=means.team, tools=tools, sealer=means.sealer)
    return replace(one.row, encoded=encoded, samples=values, uses=uses)


def _encoded(fresh: Sequence[ReadRun], means: Means) -> dict[str, Encoded]:
    """Encode the intents whose vectors are needed, by their text."""
    if means.embedder is None:
        return {}
    from graph import encode  # noqa: PLC0415 - heavy

    known = recording.embedded(means.team, means.embedder.model, {one.row.pair for one in fresh})
    wanted = {
        one.reading.text: one.reading
        for one in fresh
        if one.row.pair not in known or one.teaches_bindings
    }
    try:
        numbers = encode.encode(list(wanted.values()), embedder=means.embedder)
    except EmbeddingUnavailable:
        return {}
    return dict(zip(wanted, numbers, strict=True))
