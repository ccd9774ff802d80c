"""Record finished runs, each once, with what is learned from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.sealing import Sealer
from graph import read_runs
from graph.patterns import MIN_SUPPORT, PastRun
from graph.store import recording, team_names
from graph.store.recording import RecordableRun, RecordedRuns
from tools.embed.embedder import Embedder, EmbeddingUnavailable

if TYPE_CHECKING:
    from graph.suggestion.binding.tasks import WorkflowTool
    from graph.suggestion.intent.encoded import EncodedIntent

CHUNK_SIZE: Final = 200
"""Runs recorded per transaction; an interruption loses at most some seconds' work."""

ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class RecordingDependencies:
    """The owner of recorded runs, and the services that recording needs.

    Attributes:
        team: Primary key of the owning team; None: shared runs, which all teams learn from.
        embedder: Embeds the intents; if None or not loadable, `embed` does it later.
        sealer: Seals what may not be stored in clear.
    """

    team: int | None
    embedder: Embedder | None
    sealer: Sealer


def record_runs(
    runs: Sequence[PastRun],
    *,
    team: int | None,
    embedder: Embedder | None,
    sealer: Sealer,
    on_progress: ProgressCallback = lambda _done, _all: None,
) -> RecordedRuns:
    """Record finished runs; idempotent, since each key is recorded once.

    Each chunk of `CHUNK_SIZE` runs is one transaction: after an interruption, call it again with
    the same runs. Safe in several processes at once.

    Raises:
        InvalidRun: If a run is invalid or names an unknown tool; nothing is recorded then.
        QueryError: If an intent has no searchable text; likewise.
        TeamDeleted: If the team does not exist.
    """
    dependencies = RecordingDependencies(team=team, embedder=embedder, sealer=sealer)
    tools = team_names.load_tool_names({task.tool for run in runs for task in run.tasks})
    private = team_names.load_private_teams(tools)
    recordable = [
        read_runs.read_run(past_run, team=team, tools=tools, private=private, sealer=sealer)
        for past_run in runs
    ]
    return record_recordable_runs(recordable, dependencies, tools=tools, on_progress=on_progress)


def record_recordable_runs(
    runs: Sequence[RecordableRun],
    dependencies: RecordingDependencies,
    *,
    tools: Mapping[int, WorkflowTool],
    on_progress: ProgressCallback = lambda _done, _all: None,
) -> RecordedRuns:
    """Record runs that have been read, like `record_runs`.

    Args:
        runs: The runs.
        dependencies: Their owner, and services.
        tools: All tools they called, by primary key.
        on_progress: Called with the number of runs done and their total.

    Raises:
        TeamDeleted: If the team does not exist.
    """
    recorded = RecordedRuns()
    on_progress(0, len(runs))
    for start in range(0, len(runs), CHUNK_SIZE):
        chunk = runs[start : start + CHUNK_SIZE]
        recorded += _record_chunk(chunk, dependencies, tools)
        on_progress(start + len(chunk), len(runs))
    return recorded


def _record_chunk(
    runs: Sequence[RecordableRun],
    dependencies: RecordingDependencies,
    tools: Mapping[int, WorkflowTool],
) -> RecordedRuns:
    known = recording.load_known_keys(dependencies.team, {run.run.key for run in runs})
    new = [run for run in runs if run.run.key not in known]
    teaching = _select_teaching(new, dependencies.team)
    encoded = _encode_intents(new, dependencies)
    team, sealer = dependencies.team, dependencies.sealer
    complete = [
        replace(
            run,
            encoded=encoded.get(run.reading.text),
            uses=read_runs.collect_binding_uses(run, team=team, tools=tools, sealer=sealer)
            if run in teaching
            else (),
        )
        for run in new
    ]
    model = dependencies.embedder.model if dependencies.embedder else ""
    recorded = recording.record_complete_runs(complete, team=team, model=model, sealer=sealer)
    return recorded + RecordedRuns(repeated_runs=len(runs) - len(new))


def _select_teaching(new: Sequence[RecordableRun], team: int | None) -> set[RecordableRun]:
    """Return the runs whose arguments teach where arguments come from.

    Of calls made one by one, only those of a workflow that was seen before.
    """
    unsure = {run.pattern_key[1] for run in new if run.run.weight < 1.0}
    weights = recording.load_workflow_weights(team, unsure) if unsure else {}
    return {
        run for run in new if run.run.weight + weights.get(run.pattern_key[1], 0.0) >= MIN_SUPPORT
    }


def _encode_intents(
    new: Sequence[RecordableRun], dependencies: RecordingDependencies
) -> dict[str, EncodedIntent]:
    if dependencies.embedder is None:
        return {}
    from graph import encode

    known = recording.load_embedded_patterns(
        dependencies.team, dependencies.embedder.model, {run.pattern_key for run in new}
    )
    wanted = {
        run.reading.text: run.reading
        for run in new
        if run.pattern_key not in known or run.teaches_bindings
    }
    try:
        encoded = encode.encode_intents(list(wanted.values()), embedder=dependencies.embedder)
    except EmbeddingUnavailable:
        return {}
    return dict(zip(wanted, encoded, strict=True))
