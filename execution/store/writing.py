"""Writes changes of many runs in one transaction, each entry wholly or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from django.db import DataError, transaction

from execution.changes import WHOLE_TASK, RunChanges
from execution.store import change_rows, fencing, payloads, prepared, statements
from execution.store.change_rows import Row
from execution.store.escaping import escape_json
from execution.store.fencing import Refusal
from execution.store.payloads import PayloadKind, SealedPayload
from gateway_project.foundation import notify
from gateway_project.foundation.sealing import Sealer

ROW_BYTES: Final = 1_000
"""Bytes that a task or event row counts for in transaction time limits: a millisecond's worth,
far more than a row takes."""

Cursor = psycopg.Cursor[Any]
BatchEntry = tuple[RunChanges, Sequence[SealedPayload]]


def write_batch(
    batch: Sequence[RunChanges], *, sealer: Sealer, approval_expiry_s: float
) -> Sequence[Refusal | None]:
    """Write a batch of changes; those of one run in order.

    An entry whose first event exists has been written before and changes nothing, so that a batch
    with an unacknowledged commit can be written again.

    Args:
        batch: Changes of any runs.
        sealer: Seals results, errors and arguments.
        approval_expiry_s: Seconds until a requested approval expires.

    Returns:
        Why each entry is refused; None: it is durable.

    Raises:
        django.db.Error: If the database is unavailable or rejects the batch; nothing is written
        then.
        ValueError: If a value has no JSON form; nothing is written then.
    """
    entries = [(changes, change_rows.seal_changes(changes, sealer)) for changes in batch]
    if fencing.has_only_lease_checks(batch) and prepared.can_limit_transactions():
        try:
            _write_plain(entries, approval_expiry_s)
        except DataError as error:
            if not prepared.is_unmet_requirement(error):
                raise
        else:
            return [None] * len(entries)
    return _write_judged(entries, approval_expiry_s)


def _write_plain(entries: Sequence[BatchEntry], expiry_s: float) -> None:
    """Write a plain batch in one round trip, if all of it may be written.

    Raises:
        django.db.DataError: If not; see `prepared.is_unmet_requirement`.
    """
    with prepared.transaction(size=_estimate_bytes(entries)):
        fencing.require_leases([changes for changes, _ in entries])
        _write_entries(entries, {}, expiry_s)


def _write_judged(entries: Sequence[BatchEntry], expiry_s: float) -> Sequence[Refusal | None]:
    """Write a batch except for entries that are refused or already written."""
    batch = [changes for changes, _ in entries]
    with transaction.atomic(), prepared.cursor(pipelined=True, size=_estimate_bytes(entries)):
        leases = fencing.lock_leases(changes.run for changes in batch)
        verdicts = fencing.judge_entries(batch, leases)
        accepted = [
            entry for entry, verdict in zip(entries, verdicts, strict=True) if verdict.is_new
        ]
        if accepted:
            versions = {run: lease.version for run, lease in leases.items()}
            _write_entries(accepted, versions, expiry_s)
    return [verdict.refusal for verdict in verdicts]


def _estimate_bytes(entries: Sequence[BatchEntry]) -> int:
    """Return the bytes that entries count for."""
    rows = sum(len(changes.tasks) + len(changes.events) for changes, _ in entries)
    return rows * ROW_BYTES + sum(len(one.content) for _, sealed in entries for one in sealed)


def write_first_changes(
    run: UUID, changes: RunChanges, *, version: int, sealer: Sealer, approval_expiry_s: float
) -> None:
    """Write a run's first changes, in its creating transaction.

    Args:
        run: Its id; no other process can know of it yet.
        changes: As for `write_batch`.
        version: Version of its workflow.
        sealer: As for `write_batch`.
        approval_expiry_s: Likewise.
    """
    _write_entries(
        [(changes, change_rows.seal_changes(changes, sealer))], {run: version}, approval_expiry_s
    )


def write_last_changes(entries: Sequence[BatchEntry]) -> None:
    """Write the last changes of runs, in the transaction that seized them.

    Args:
        entries: Each with its sealed payloads; without approval requests and replans.
    """
    if entries:
        _write_entries(entries, versions={}, approval_expiry_s=0)


def _write_entries(
    entries: Sequence[BatchEntry], versions: dict[UUID, int], approval_expiry_s: float
) -> None:
    changes = [one for one, _ in entries]
    tasks, events = change_rows.build_task_rows(entries), change_rows.build_event_rows(changes)
    items = [row for row in tasks if row["item"] != WHOLE_TASK]
    with prepared.cursor(pipelined=True, size=_estimate_bytes(entries)) as cursor:
        _write_plans(cursor, change_rows.build_planned_rows(changes))
        _execute(cursor, statements.INSERT_ITEMS, items)
        payloads.insert_payloads(_assign_versions(entries, versions))
        _write_approvals(cursor, changes, approval_expiry_s)
        _execute(cursor, statements.UPDATE_COMMANDS, change_rows.build_command_rows(changes))
        _execute(
            cursor,
            statements.WRITE_CHANGES,
            change_rows.build_run_rows(changes),
            tasks=escape_json(tasks),
            tasks_count=len(tasks),
            events=escape_json(events),
            events_count=len(events),
            channel=notify.RUNS,
        )


def _write_plans(cursor: Cursor, planned: Sequence[Row]) -> None:
    _execute(cursor, statements.DELETE_REMOVED_TASKS, planned)
    _execute(cursor, statements.WITHDRAW_REMOVED_TASKS, planned)
    _execute(cursor, statements.INSERT_PLANNED_TASKS, planned)


def _write_approvals(cursor: Cursor, changes: Sequence[RunChanges], expiry_s: float) -> None:
    _execute(cursor, statements.USE_APPROVALS, change_rows.find_used_approvals(changes))
    _execute(cursor, statements.WITHDRAW_APPROVALS, change_rows.find_withdrawn_calls(changes))
    requested = change_rows.build_approval_rows(changes)
    _execute(cursor, statements.SUPERSEDE_APPROVALS, requested)
    _execute(cursor, statements.INSERT_APPROVALS, requested, expiry_s=expiry_s)


def _assign_versions(
    entries: Sequence[BatchEntry], versions: dict[UUID, int]
) -> Iterator[SealedPayload]:
    """Yield the payloads; each new workflow is numbered with its version."""
    versions = dict(versions)
    for changes, sealed in entries:
        for one in sealed:
            if one.kind is PayloadKind.WORKFLOW:
                versions[changes.run] += 1
                yield replace(one, item=versions[changes.run])
            else:
                yield one


def _execute(cursor: Cursor, statement: LiteralString, rows: Sequence[Row], **values: Any) -> None:
    """Execute a statement on rows, if there are any."""
    if rows:
        cursor.execute(statement, {"rows": escape_json(rows), "count": len(rows), **values})
