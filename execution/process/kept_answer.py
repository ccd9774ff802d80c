"""What came of a run that begins and ends in this process, known without reading it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from execution.changes import WHOLE_TASK, Changes, TaskChange
from execution.status import RunStatus, TaskStatus
from execution.store import change_rows
from execution.store.payloads import Place
from execution.store.runs import FIRST_SEQ, FIRST_VERSION, Created, NewRun, options_json
from execution.store.writing import Written
from execution.view import RunView, TaskView

MAX_RESULT_BYTES: Final = 64 * 1024
"""Results of a run, as JSON, that are kept in memory only to be given to who waits for it."""
MAX_ROWS: Final = 1_000

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class KeptAnswer:
    """A run as its rows show it, followed from its first change to its end.

    It gives up where the rows hold more than is worth keeping (large results, long lists) or than
    is known here (approvals, replans, what was written by a commit that nobody acknowledged).

    Args:
        new: The run as it was asked for.
        created: The run as it was made.
    """

    def __init__(self, new: NewRun, created: Created) -> None:
        self._is_known = created.at is not None and not new.is_direct
        self._left_bytes = MAX_RESULT_BYTES
        self._tasks: dict[Place, TaskView] = {
            (task, WHOLE_TASK): TaskView(
                task=task, tool=tool, status=TaskStatus.PENDING, position=position
            )
            for position, (task, tool) in enumerate(new.tasks)
        }
        at = created.at or _NEVER
        self._run = RunView(
            id=new.run,
            user=new.caller.user,
            team=new.caller.team,
            kind=new.caller.kind,
            is_direct=new.is_direct,
            status=RunStatus.QUEUED,
            version=FIRST_VERSION,
            last_seq=FIRST_SEQ,
            created_at=at,
            changed_at=at,
            deadline_at=created.deadline_at,
            workflow=new.workflow,
            intent=new.intent,
            options=options_json(new.options),
        )

    def follow(self, changes: Changes, written: Written | None) -> None:
        """Take note of changes that are safe.

        Args:
            changes: The next.
            written: What is known of that; None: too little.
        """
        if not self._is_known:
            return
        if written is None or changes.workflow is not None or len(self._tasks) > MAX_ROWS:
            self._give_up()
            return
        for change in changes.tasks:
            self._follow_task(change, written.sizes.get((change.task, change.item)))
        if self._is_known:
            self._follow_run(changes, written.at)

    def view(self) -> RunView | None:
        """Return the run as a reader of its rows would see it; None: they have to be read."""
        if not self._is_known:
            return None
        tasks = sorted(self._tasks.values(), key=lambda one: (one.position, one.task, one.item))
        return replace(self._run, tasks=tuple(tasks))

    def _give_up(self) -> None:
        self._is_known = False
        self._tasks.clear()

    def _follow_task(self, change: TaskChange, size: int | None) -> None:
        self._left_bytes -= size or 0
        is_about_approval = change.asks or change.approval is not None
        whole = self._tasks.get((change.task, WHOLE_TASK))
        if self._left_bytes < 0 or is_about_approval or whole is None:
            self._give_up()
            return
        place = (change.task, change.item)
        self._tasks[place] = _after(self._tasks.get(place), change, size, whole)

    def _follow_run(self, changes: Changes, at: datetime) -> None:
        run = replace(self._run, changed_at=at)
        if changes.events:
            run = replace(run, last_seq=changes.events[-1].seq)
        if changes.status is not None:
            code = change_rows.code(changes.error_code)
            is_first = changes.status is RunStatus.RUNNING and run.started_at is None
            run = replace(
                run,
                status=changes.status,
                started_at=at if is_first else run.started_at,
                ended_at=at if changes.status.is_final else None,
                error_code=code,
                error=changes.error if code else "",
            )
        self._run = run


def _after(
    known: TaskView | None, change: TaskChange, size: int | None, whole: TaskView
) -> TaskView:
    """Return a task or an item as it stands after a change."""
    if known is None:
        known = TaskView(
            task=change.task,
            tool=whole.tool,
            status=change.status,
            item=change.item,
            position=whole.position,
        )
    is_first = change.status is TaskStatus.RUNNING and known.started_at is None
    begins = is_first or change_rows.begins_call(change)
    is_over = change.status.is_done or change.status is TaskStatus.UNKNOWN
    code = change_rows.code(change.error_code)
    return replace(
        known,
        status=change.status,
        attempts=known.attempts if change.attempts is None else change.attempts,
        definition_hash=(
            known.definition_hash if change.definition_hash is None else change.definition_hash
        ),
        started_at=change.at if begins else known.started_at,
        ended_at=change.at if is_over else None,
        duration_ms=change.duration_ms,
        error_code=code,
        error=change.error if code else "",
        result=known.result if change.result is None else change.result,
        result_bytes=known.result_bytes if size is None else size,
    )
