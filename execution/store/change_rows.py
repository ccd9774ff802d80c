"""Converts changes of runs to rows: one per task, event, run and command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID, uuid4

from execution.changes import WHOLE_TASK, RunChanges, TaskChange
from execution.status import TaskStatus
from execution.store import payloads
from execution.store.payloads import PayloadKind, SealedPayload
from gateway_project.foundation.sealing import Sealer

MAX_CODE_CHARS: Final = 60
Row = dict[str, Any]
_WITHDRAWN_STATUSES: Final = frozenset(
    {TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.CANCELLED, TaskStatus.PENDING}
)
"""Statuses in which a call's open approval request is withdrawn."""


def seal_changes(changes: RunChanges, sealer: Sealer) -> list[SealedPayload]:
    """Seal the payloads of an entry; a workflow's version is assigned later."""
    run = changes.run
    sealed = [one for change in changes.tasks for one in _seal_task_change(run, change, sealer)]
    if changes.error:
        sealed.append(
            payloads.seal_payload(changes.error, run=run, kind=PayloadKind.ERROR, sealer=sealer)
        )
    if changes.workflow is not None:
        sealed.append(
            payloads.seal_payload(
                changes.workflow, run=run, kind=PayloadKind.WORKFLOW, sealer=sealer
            )
        )
    return sealed


def _seal_task_change(run: UUID, change: TaskChange, sealer: Sealer) -> Iterable[SealedPayload]:
    values = (
        (PayloadKind.ARGUMENTS, change.arguments),
        (PayloadKind.RESULT, change.result),
        (PayloadKind.ERROR, change.error or None),
    )
    for kind, value in values:
        if value is not None:
            yield payloads.seal_payload(
                value, run=run, kind=kind, task=change.task, item=change.item, sealer=sealer
            )


def build_task_rows(entries: Iterable[tuple[RunChanges, Iterable[SealedPayload]]]) -> list[Row]:
    """Return one row per task or item, with its state after all entries."""
    rows: dict[tuple[UUID, str, int], Row] = {}
    for changes, sealed in entries:
        sizes = {
            (one.task, one.item): one.size for one in sealed if one.kind is PayloadKind.RESULT
        }
        for change in changes.tasks:
            key = (changes.run, change.task, change.item)
            row = rows.setdefault(key, _make_key_row(changes.run, change))
            _update_row(row, change, sizes.get((change.task, change.item)))
    return list(rows.values())


def _truncate_code(text: str) -> str:
    """Return a code in its stored form."""
    return "".join(char for char in text if char.isprintable())[:MAX_CODE_CHARS]


def _make_key_row(run: UUID, change: TaskChange) -> Row:
    return {"run": str(run), "task": change.task, "item": change.item}


def _update_row(row: Row, change: TaskChange, result_bytes: int | None) -> None:
    """Apply a later change to a row."""
    at = change.at.isoformat()
    is_over = change.status.is_done or change.status is TaskStatus.UNKNOWN
    row["status"] = change.status.value
    row["ended_at"] = at if is_over else None
    row["duration_ms"] = change.duration_ms
    row["error_code"] = _truncate_code(change.error_code)
    if change.status is TaskStatus.RUNNING:
        row.setdefault("started_at", at)
        if change.attempts is not None:  # a call, perhaps repeated; not a for-each task
            row["called_at"] = at
    optional = {
        "attempts": change.attempts,
        "definition_hash": change.definition_hash,
        "arguments_digest": change.arguments_digest,
        "result_bytes": result_bytes,
    }
    row.update({name: value for name, value in optional.items() if value is not None})


def build_event_rows(entries: Iterable[RunChanges]) -> list[Row]:
    """Return one row per event."""
    return [
        {
            "run": str(changes.run),
            "seq": event.seq,
            "kind": event.kind,
            "task": event.task,
            "item": event.item,
            "at": event.at.isoformat(),
            "data": dict(event.data),
        }
        for changes in entries
        for event in changes.events
    ]


def build_run_rows(entries: Iterable[RunChanges]) -> list[Row]:
    """Return one row per run, with its state after all entries."""
    rows: dict[UUID, Row] = {}
    for changes in entries:
        row = rows.setdefault(changes.run, {"run": str(changes.run), "last_seq": 0, "versions": 0})
        if changes.events:
            row["last_seq"] = max(row["last_seq"], changes.events[-1].seq)
        if changes.status is not None:
            row["status"] = changes.status.value
            row["is_final"] = changes.status.is_final
            row["error_code"] = _truncate_code(changes.error_code)
        if changes.workflow is not None:
            row["versions"] += 1
            row["tasks_total"] = len(changes.workflow["tasks"])
    return list(rows.values())


def build_command_rows(entries: Iterable[RunChanges]) -> list[Row]:
    """Return one row per applied command."""
    return [
        {"id": command, "outcome": _truncate_code(outcome)}
        for changes in entries
        for command, outcome in changes.applied_commands
    ]


def build_approval_rows(entries: Iterable[RunChanges]) -> list[Row]:
    """Return one row per requested approval."""
    return [
        {
            **_make_key_row(run, change),
            "id": str(uuid4()),
            "definition_hash": change.definition_hash or "",
            "arguments_digest": change.arguments_digest or "",
            "reason": change.approval_reason,
        }
        for run, change in _find_latest_changes(entries)
        if change.approval_reason
    ]


def find_withdrawn_calls(entries: Iterable[RunChanges]) -> list[Row]:
    """Return the calls whose open approval requests are withdrawn."""
    return [
        _make_key_row(run, change)
        for run, change in _find_latest_changes(entries)
        if change.status in _WITHDRAWN_STATUSES
    ]


def _find_latest_changes(entries: Iterable[RunChanges]) -> Iterable[tuple[UUID, TaskChange]]:
    """Return the last change of each task or item, with its run."""
    latest = {
        (changes.run, change.task, change.item): change
        for changes in entries
        for change in changes.tasks
    }
    return [(run, change) for (run, _, _), change in latest.items()]


def find_used_approvals(entries: Iterable[RunChanges]) -> list[Row]:
    """Return the consumed approvals."""
    return [
        {"id": str(change.approval)}
        for changes in entries
        for change in changes.tasks
        if change.approval is not None
    ]


def build_planned_rows(entries: Iterable[RunChanges]) -> list[Row]:
    """Return the tasks of each run's newest workflow, for replanned runs."""
    newest = {one.run: one.workflow for one in entries if one.workflow is not None}
    return [
        {
            "run": str(run),
            "task": task["id"],
            "item": WHOLE_TASK,
            "position": position,
            "tool": task["tool"],
        }
        for run, workflow in newest.items()
        for position, task in enumerate(workflow["tasks"])
    ]
