"""Writing what happened to many runs in one transaction, each entry wholly or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from django.db import DataError, transaction

from execution.changes import WHOLE_TASK, Changes
from execution.store import change_rows, fencing, payloads, prepared, statements
from execution.store.change_rows import Row
from execution.store.escaping import stored_json
from execution.store.fencing import Refusal
from execution.store.payloads import Kind, Place, Sealed
from gateway_project.foundation import notify
from gateway_project.foundation.sealing import Sealer

__all__ = ["Refusal", "Written", "write", "write_first"]
ROW_BYTES: Final = 1_000
"""What the row of a task or an event counts for, as to how long a transaction may take: a row
takes far less than the millisecond that this is."""

Cursor = psycopg.Cursor[Any]
Entry = tuple[Changes, Sequence[Sealed]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """An entry that is safe.

    Attributes:
        at: When, by the clock of the database.
        sizes: Of the results that it gives tasks and items, in bytes of JSON.
    """

    at: datetime
    sizes: Mapping[Place, int]


def write(
    batch: Sequence[Changes], *, sealer: Sealer, approval_expiry_s: float
) -> Sequence[Written | Refusal | None]:
    """Write a batch of changes; those of one run in order.

    An entry whose first event is there already has been written before: it changes nothing, so
    that a batch whose commit was not acknowledged can be written again.

    Args:
        batch: Of any runs.
        sealer: Seals results, errors and arguments.
        approval_expiry_s: Seconds in which a call that is asked about can be approved.

    Returns:
        What became of each entry; None: it is safe, and no more is known of it.

    Raises:
        django.db.Error: If the database is away, or refuses the batch; nothing is written then.
        ValueError: If JSON has no form for something; likewise.
    """
    entries = [(changes, change_rows.sealed(changes, sealer)) for changes in batch]
    if fencing.is_plain(batch) and prepared.can_limit():
        try:
            return _write_at_once(entries, approval_expiry_s)
        except DataError as error:
            if not prepared.is_unmet(error):
                raise
    return _write_judged(entries, approval_expiry_s)


def _write_at_once(entries: Sequence[Entry], expiry_s: float) -> list[Written]:
    """Write a plain batch in one round trip, if nothing speaks against any of it.

    Raises:
        django.db.DataError: If something does; `prepared.is_unmet` knows it.
    """
    with prepared.cursor() as required:
        with prepared.transaction(size=_size(entries)):
            fencing.require(required, [changes for changes, _ in entries])
            _write(entries, {}, expiry_s)
        ((_, at),) = required.fetchall()
    return [_written(entry, at) for entry in entries]


def _write_judged(entries: Sequence[Entry], expiry_s: float) -> Sequence[Refusal | None]:
    """Write a batch but for what may not be written, or is there."""
    batch = [changes for changes, _ in entries]
    with transaction.atomic(), prepared.cursor(pipelined=True, size=_size(entries)):
        holds = fencing.locked(changes.run for changes in batch)
        verdicts = fencing.judge(batch, holds)
        accepted = [
            entry for entry, verdict in zip(entries, verdicts, strict=True) if verdict.is_new
        ]
        if accepted:
            versions = {run: hold.version for run, hold in holds.items()}
            _write(accepted, versions, expiry_s)
    return [verdict.refusal for verdict in verdicts]


def _written(entry: Entry, at: datetime) -> Written:
    sizes = {(one.task, one.item): one.size for one in entry[1] if one.kind is Kind.RESULT}
    return Written(at=at, sizes=sizes)


def _size(entries: Sequence[Entry]) -> int:
    """Return how many bytes entries count for."""
    rows = sum(len(changes.tasks) + len(changes.events) for changes, _ in entries)
    return rows * ROW_BYTES + sum(len(one.content) for _, kept in entries for one in kept)


def write_first(
    run: UUID, changes: Changes, *, version: int, sealer: Sealer, approval_expiry_s: float
) -> None:
    """Write the first changes of a run, in the transaction that makes it.

    Args:
        run: Its id; nobody else can know of it yet.
        changes: As for `write`.
        version: Of its workflow.
        sealer: As for `write`.
        approval_expiry_s: Likewise.
    """
    _write([(changes, change_rows.sealed(changes, sealer))], {run: version}, approval_expiry_s)


def write_last(entries: Sequence[Entry]) -> None:
    """Write the last changes of runs, in the transaction that has seized them.

    Args:
        entries: Each with what of it is kept sealed; nothing is asked or planned in them.
    """
    if entries:
        _write(entries, versions={}, approval_expiry_s=0)


def _write(entries: Sequence[Entry], versions: dict[UUID, int], approval_expiry_s: float) -> None:
    changes = [one for one, _ in entries]
    tasks, events = change_rows.task_rows(entries), change_rows.event_rows(changes)
    items = [row for row in tasks if row["item"] != WHOLE_TASK]
    with prepared.cursor(pipelined=True, size=_size(entries)) as cursor:
        _write_plans(cursor, change_rows.replanned(changes))
        _execute(cursor, statements.INSERT_ITEMS, items)
        payloads.insert(_placed(entries, versions))
        _write_approvals(cursor, changes, approval_expiry_s)
        _execute(cursor, statements.UPDATE_COMMANDS, change_rows.command_rows(changes))
        _execute(
            cursor,
            statements.WRITE,
            change_rows.run_rows(changes),
            tasks=stored_json(tasks),
            tasks_count=len(tasks),
            events=stored_json(events),
            events_count=len(events),
            channel=notify.RUNS,
        )


def _write_plans(cursor: Cursor, planned: Sequence[Row]) -> None:
    _execute(cursor, statements.DELETE_LEFT_OUT, planned)
    _execute(cursor, statements.WITHDRAW_LEFT_OUT, planned)
    _execute(cursor, statements.INSERT_PLANNED, planned)


def _write_approvals(cursor: Cursor, changes: Sequence[Changes], expiry_s: float) -> None:
    _execute(cursor, statements.USE, change_rows.used(changes))
    _execute(cursor, statements.WITHDRAW, change_rows.called_off(changes))
    asked = change_rows.asked_rows(changes)
    _execute(cursor, statements.OVERTAKE, asked)
    _execute(cursor, statements.ASK, asked, expiry_s=expiry_s)


def _placed(entries: Sequence[Entry], versions: dict[UUID, int]) -> Iterator[Sealed]:
    """Yield what is sealed; each new workflow in the place of its version."""
    versions = dict(versions)
    for changes, kept in entries:
        for one in kept:
            if one.kind is Kind.WORKFLOW:
                versions[changes.run] += 1
                yield replace(one, item=versions[changes.run])
            else:
                yield one


def _execute(cursor: Cursor, statement: LiteralString, rows: Sequence[Row], **values: Any) -> None:
    """Run a statement on rows, unless there are none."""
    if rows:
        cursor.execute(statement, {"rows": stored_json(rows), "count": len(rows), **values})
