"""Show progress on stderr: a bar on a terminal, a few lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

StageReporter = Callable[[str, int, int], None]
MAX_LINES = 10
"""Maximum lines per stage without a terminal."""
MIN_REPORTED_ITEMS = 50
"""Stages of fewer items are too short to report."""


@contextmanager
def show_progress() -> Iterator[StageReporter]:
    """Show the progress of each stage on stderr; stdout is reserved for results.

    Yields:
        A function that takes the stage, the items done and the total.
    """
    if not sys.stderr.isatty():
        yield _LineReporter()
        return
    from rich.console import Console  # noqa: PLC0415, TID251 - shows no names
    from rich.progress import MofNCompleteColumn, Progress, TaskID  # noqa: PLC0415

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


class _LineReporter:
    """Writes a line for each tenth of a stage, for logs and pipes."""

    def __init__(self) -> None:
        self._written: dict[str, int] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        part = done * MAX_LINES // total if total else 0
        if total >= MIN_REPORTED_ITEMS and part > self._written.get(stage, 0):
            self._written[stage] = part
            sys.stderr.write(f"{stage}: {done:,} of {total:,}\n")
            sys.stderr.flush()
