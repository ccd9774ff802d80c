"""Import past runs from a file, with an audit entry."""

from __future__ import annotations

from datetime import datetime

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph import history_file
from graph.history_file import ImportedHistory, ProgressCallback
from graph.record_runs import RecordingDependencies


def import_history(  # noqa: PLR0913 - each is a choice of the person
    caller: Caller,
    content: bytes,
    dependencies: RecordingDependencies,
    *,
    filename: str,
    now: datetime,
    dry_run: bool = False,
    on_progress: ProgressCallback = lambda _done, _all: None,
) -> ImportedHistory:
    """Record the runs of a file, one per line; importing a run twice records it once.

    Args:
        caller: The actor.
        content: Of the file.
        dependencies: The team of the runs, and the services that record them.
        filename: Its name.
        now: Time of runs without one.
        dry_run: Only report what would be recorded.
        on_progress: Called with the lines done and their total.

    Raises:
        HistoryRefused: If it is empty or too long.
        TeamDeleted: If the team no longer exists.
    """
    imported = history_file.import_history(
        content, dependencies, now=now, dry_run=dry_run, on_progress=on_progress
    )
    if imported.recorded.new_runs and not dry_run:
        detail = {"runs": imported.recorded.new_runs, "patterns": imported.recorded.patterns}
        audit.record_audit(caller, "history.imported", filename, detail=detail)
    return imported
