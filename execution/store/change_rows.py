"""Changes of many runs as rows: one for each task, event, run and command that they touch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID, uuid4

from execution.changes import WHOLE_TASK, Changes, TaskChange
from execution.status import TaskStatus
from execution.store import payloads
from execution.store.payloads import Kind, Sealed
from gateway_project.foundation.sealing import Sealer

MAX_CODE_CHARS: Final = 60
Row = dict[str, Any]
_CALLED_OFF: Final = frozenset(
    {TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.CANCELLED, TaskStatus.PENDING}
)
"""Once it stands so, nobody needs to decide about the call that was asked about."""


def sealed(changes: Changes, sealer: Sealer) -> list[Sealed]:
    """Return what of an entry is kept sealed; a workflow's version is set when it is known."""
    run = changes.run
    found = [one for change in changes.tasks for one in _sealed_of_task(run, change, sealer)]
    if changes.error:
        found.append(payloads.seal(changes.error, run=run, kind=Kind.ERROR, sealer=sealer))
    if changes.workflow is not None:
        found.append(payloads.seal(changes.workflow, run=run, kind=Kind.WORKFLOW, sealer=sealer))
    return found


def _sealed_of_task(run: UUID, change: TaskChange, sealer: Sealer) -> Iterable[Sealed]:
    values = (
        (Kind.ARGUMENTS, change.arguments),
        (Kind.RESULT, change.result),
        (Kind.ERROR, change.error or None),
    )
    for kind, value in values:
        if value is not None:
            yield payloads.seal(
                value, run=run, kind=kind, task=change.task, item=change.item, sealer=sealer
            )


def task_rows(entries: Iterable[tuple[Changes, Iterable[Sealed]]]) -> list[Row]:
    """Return one row for each task or item, as it stands after all entries."""
    rows: dict[tuple[UUID, str, int], Row] = {}
    for changes, kept in entries:
        sizes = {(one.task, one.item): one.size for one in kept if one.kind is Kind.RESULT}
        for change in changes.tasks:
            key = (changes.run, change.task, change.item)
            row = rows.setdefault(key, _first(changes.run, change))
            _follow(row, change, sizes.get((change.task, change.item)))
    return list(rows.values())


def code(text: str) -> str:
    """Return a code as it is kept."""
    return "".join(char for char in text if char.isprintable())[:MAX_CODE_CHARS]


def begins_call(change: TaskChange) -> bool:
    """Whether a call is about to be made, maybe anew; a task with a list makes none itself."""
    return change.status is TaskStatus.RUNNING and change.attempts is not None


def _first(run: UUID, change: TaskChange) -> Row:
    return {"run": str(run), "task": change.task, "item": change.item}


def _follow(row: Row, change: TaskChange, result_bytes: int | None) -> None:
    """Bring a row up to a later change."""
    at = change.at.isoformat()
    over = change.status.is_done or change.status is TaskStatus.UNKNOWN
    row["status"] = change.status.value
    row["ended_at"] = at if over else None
    row["duration_ms"] = change.duration_ms
    row["error_code"] = code(change.error_code)
    if change.status is TaskStatus.RUNNING:
        row.setdefault("started_at", at)
        if begins_call(change):
            row["called_at"] = at
    given = {
        "attempts": change.attempts,
        "definition_hash": change.definition_hash,
        "arguments_digest": change.arguments_digest,
        "result_bytes": result_bytes,
    }
    row.update({name: value for name, value in given.items() if value is not None})


def event_rows(entries: Iterable[Changes]) -> list[Row]:
    """Return one row for each event."""
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


def run_rows(entries: Iterable[Changes]) -> list[Row]:
    """Return one row for each run, as it stands after all entries."""
    rows: dict[UUID, Row] = {}
    for changes in entries:
        row = rows.setdefault(changes.run, {"run": str(changes.run), "last_seq": 0, "versions": 0})
        if changes.events:
            row["last_seq"] = max(row["last_seq"], changes.events[-1].seq)
        if changes.status is not None:
            row["status"] = changes.status.value
            row["is_final"] = changes.status.is_final
            row["error_code"] = code(changes.error_code)
        if changes.workflow is not None:
            row["versions"] += 1
            row["tasks_total"] = len(changes.workflow["tasks"])
    return list(rows.values())


def command_rows(entries: Iterable[Changes]) -> list[Row]:
    """Return one row for each command that was carried out."""
    return [
        {"id": command, "outcome": code(outcome)}
        for changes in entries
        for command, outcome in changes.applied
    ]


def asked_rows(entries: Iterable[Changes]) -> list[Row]:
    """Return one row for each approval that is asked for."""
    return [
        {
            **_first(run, change),
            "id": str(uuid4()),
            "definition_hash": change.definition_hash or "",
            "arguments_digest": change.arguments_digest or "",
            "reason": change.asks,
        }
        for run, change in _latest(entries)
        if change.asks
    ]


def called_off(entries: Iterable[Changes]) -> list[Row]:
    """Return the calls about which nobody needs to decide any more."""
    return [
        _first(run, change) for run, change in _latest(entries) if change.status in _CALLED_OFF
    ]


def _latest(entries: Iterable[Changes]) -> Iterable[tuple[UUID, TaskChange]]:
    """Return how each task or item stands after all entries, with its run."""
    latest = {
        (changes.run, change.task, change.item): change
        for changes in entries
        for change in changes.tasks
    }
    return [(run, change) for (run, _, _), change in latest.items()]


def used(entries: Iterable[Changes]) -> list[Row]:
    """Return the approvals that are used up."""
    return [
        {"id": str(change.approval)}
        for changes in entries
        for change in changes.tasks
        if change.approval is not None
    ]


def replanned(entries: Iterable[Changes]) -> list[Row]:
    """Return the tasks of the newest workflow of each run that got one."""
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
