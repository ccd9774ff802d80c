"""The view of a run that starts and ends in this process, built without reading its rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from execution.changes import WHOLE_TASK, RunChanges, TaskChange, TaskKey
from execution.status import RunStatus, TaskStatus
from execution.store import change_rows
from execution.store.runs import FIRST_SEQ, FIRST_VERSION, CreatedRun, NewRun, options_to_json
from execution.store.writing import WrittenEntry
from execution.view import RunView, TaskView

MAX_RESULT_BYTES: Final = 64 * 1024
"""JSON size of results kept in memory per run, for callers that wait."""
MAX_ROWS: Final = 1_000

_UNKNOWN_TIME: Final = datetime.min.replace(tzinfo=UTC)


class RunViewCache:
    """Follows a run as its rows show it, from its first change to its end.

    It gives up if the rows hold more than is worth keeping (large results, long lists), or more
    than is known here (approvals, replans, entries with unacknowledged commits).
    """

    def __init__(self, new: NewRun, created: CreatedRun) -> None:
        self._is_known = created.created_at is not None and not new.is_direct
        self._bytes_left = MAX_RESULT_BYTES
        self._tasks: dict[TaskKey, TaskView] = {
            (task, WHOLE_TASK): TaskView(
                task=task, tool=tool, status=TaskStatus.PENDING, position=position
            )
            for position, (task, tool) in enumerate(new.tasks)
        }
        at = created.created_at or _UNKNOWN_TIME
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
            options=options_to_json(new.options),
        )

    def apply_changes(self, changes: RunChanges, written: WrittenEntry | None) -> None:
        """Apply durable changes.

        Args:
            changes: The next changes.
            written: Details of the write; None: unknown.
        """
        if not self._is_known:
            return
        if written is None or changes.workflow is not None or len(self._tasks) > MAX_ROWS:
            self._discard()
            return
        for change in changes.tasks:
            self._apply_task_change(change, written.result_sizes.get((change.task, change.item)))
        if self._is_known:
            self._apply_run_change(changes, written.written_at)

    def build_view(self) -> RunView | None:
        """Build the view as a reader of the rows would; None: it has to be read."""
        if not self._is_known:
            return None
        tasks = sorted(
            self._tasks.values(), key=lambda task: (task.position, task.task, task.item)
        )
        return replace(self._run, tasks=tuple(tasks))

    def _discard(self) -> None:
        self._is_known = False
        self._tasks.clear()

    def _apply_task_change(self, change: TaskChange, result_bytes: int | None) -> None:
        self._bytes_left -= result_bytes or 0
        is_about_approval = change.approval_reason or change.approval is not None
        whole = self._tasks.get((change.task, WHOLE_TASK))
        if self._bytes_left < 0 or is_about_approval or whole is None:
            self._discard()
            return
        key = (change.task, change.item)
        self._tasks[key] = _update_task_view(self._tasks.get(key), change, result_bytes, whole)

    def _apply_run_change(self, changes: RunChanges, at: datetime) -> None:
        run = replace(self._run, changed_at=at)
        if changes.events:
            run = replace(run, last_seq=changes.events[-1].seq)
        if changes.status is not None:
            code = change_rows.truncate_code(changes.error_code)
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


def _update_task_view(
    view: TaskView | None, change: TaskChange, result_bytes: int | None, whole: TaskView
) -> TaskView:
    """Apply a change to the view of a task or item."""
    if view is None:
        view = TaskView(
            task=change.task,
            tool=whole.tool,
            status=change.status,
            item=change.item,
            position=whole.position,
        )
    is_first = change.status is TaskStatus.RUNNING and view.started_at is None
    is_start = is_first or change_rows.is_call_start(change)
    is_over = change.status.is_done or change.status is TaskStatus.UNKNOWN
    code = change_rows.truncate_code(change.error_code)
    return replace(
        view,
        status=change.status,
        attempts=view.attempts if change.attempts is None else change.attempts,
        definition_hash=(
            view.definition_hash if change.definition_hash is None else change.definition_hash
        ),
        started_at=change.at if is_start else view.started_at,
        ended_at=change.at if is_over else None,
        duration_ms=change.duration_ms,
        error_code=code,
        error=change.error if code else "",
        result=view.result if change.result is None else change.result,
        result_bytes=view.result_bytes if result_bytes is None else result_bytes,
    )
