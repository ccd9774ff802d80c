"""Import past runs from a file, and write down that it was done."""

from __future__ import annotations

from datetime import datetime

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph import history_file
from graph.history_file import Imported, Progress
from graph.record_runs import Means


def import_history(  # noqa: PLR0913 - each is a choice of the person
    caller: Caller,
    content: bytes,
    means: Means,
    *,
    filename: str,
    now: datetime,
    dry_run: bool = False,
    on_progress: Progress = lambda _done, _all: None,
) -> Imported:
    """Record the runs of a file, one a line, each once however often it is imported.

    Args:
        caller: Who asks.
        content: Of the file.
        means: Whose runs these are, and with what they are recorded.
        filename: Its name.
        now: Time of runs that do not say when they were.
        dry_run: Only say what would be recorded.
        on_progress: Told how many lines are done, and of how many.

    Raises:
        HistoryRefused: If there is nothing in it, or it is too long.
        TeamGone: If there is no such team.
    """
    imported = history_file.import_history(
        content, means, now=now, dry_run=dry_run, on_progress=on_progress
    )
    if imported.recorded.new and not dry_run:
        detail = {"runs": imported.recorded.new, "patterns": imported.recorded.patterns}
        audit.record(caller, "history.imported", filename, detail=detail)
    return imported
