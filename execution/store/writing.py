"""Writing what happened to many runs in one transaction, each entry wholly or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from execution.changes import WHOLE_TASK, Changes
from execution.store import folding, judging, payloads, statements
from execution.store.escaping import stored_json
from execution.store.folding import Row
from execution.store.judging import Hold, Refusal
from execution.store.payloads import Kind, Sealed
from gateway_project.foundation import notify
from gateway_project.foundation.sealing import Sealer

__all__ = ["Refusal", "write"]
Entry = tuple[Changes, Sequence[Sealed]]


def write(
    batch: Sequence[Changes], *, sealer: Sealer, approval_expiry_s: float
) -> list[Refusal | None]:
    """Write a batch of changes; those of one run in order.

    An entry whose first event is there already has been written before: it changes nothing, so
    that a batch whose commit was not acknowledged can be written again.

    Args:
        batch: Of any runs.
        sealer: Seals results, errors and arguments.
        approval_expiry_s: Seconds in which a call that is asked about can be approved.

    Returns:
        For each entry why it was refused; None: it is written.

    Raises:
        django.db.Error: If the database is away, or refuses the batch; nothing is written then.
        ValueError: If JSON has no form for something; likewise.
    """
    entries = [(changes, folding.sealed(changes, sealer)) for changes in batch]
    with transaction.atomic():
        holds = judging.locked(changes.run for changes in batch)
        verdicts = judging.judge(batch, holds)
        accepted = [
            entry for entry, verdict in zip(entries, verdicts, strict=True) if verdict.is_new
        ]
        if accepted:
            # Sent one after another and answered together: one round trip instead of eight.
            with connection.wrap_database_errors, connection.connection.pipeline():
                _write(accepted, holds, approval_expiry_s)
    return [verdict.refusal for verdict in verdicts]


def _write(entries: Sequence[Entry], holds: dict[UUID, Hold], approval_expiry_s: float) -> None:
    changes = [one for one, _ in entries]
    _write_plans(folding.replanned(changes))
    _write_tasks(folding.task_rows(entries))
    payloads.insert(_placed(entries, holds))
    _write_approvals(changes, approval_expiry_s)
    _execute(statements.INSERT_EVENTS, folding.event_rows(changes))
    _execute(statements.UPDATE_COMMANDS, folding.command_rows(changes))
    runs = folding.run_rows(changes)
    _execute(statements.UPDATE_RUNS, runs)
    ended = [row for row in runs if row.get("is_final")]
    _execute(statements.WITHDRAW_OF_ENDED, ended)
    _execute(statements.CLOSE_COMMANDS_OF_ENDED, ended)
    _execute(statements.NOTIFY, runs, channel=notify.RUNS)


def _write_plans(planned: Sequence[Row]) -> None:
    _execute(statements.DELETE_LEFT_OUT, planned)
    _execute(statements.WITHDRAW_LEFT_OUT, planned)
    _execute(statements.INSERT_PLANNED, planned)


def _write_tasks(rows: Sequence[Row]) -> None:
    _execute(statements.INSERT_ITEMS, [row for row in rows if row["item"] != WHOLE_TASK])
    _execute(statements.UPDATE_TASKS, rows)


def _write_approvals(changes: Sequence[Changes], expiry_s: float) -> None:
    _execute(statements.USE, folding.used(changes))
    _execute(statements.WITHDRAW, folding.called_off(changes))
    asked = folding.asked_rows(changes)
    _execute(statements.OVERTAKE, asked)
    _execute(statements.ASK, asked, expiry_s=expiry_s)


def _placed(entries: Sequence[Entry], holds: dict[UUID, Hold]) -> Iterator[Sealed]:
    """Yield what is sealed; each new workflow in the place of its version."""
    versions = {run: hold.version for run, hold in holds.items()}
    for changes, kept in entries:
        for one in kept:
            if one.kind is Kind.WORKFLOW:
                versions[changes.run] += 1
                yield replace(one, item=versions[changes.run])
            else:
                yield one


def _execute(statement: str, rows: Sequence[Row], **values: Any) -> None:
    """Run a statement on rows, unless there are none."""
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(statement, {"rows": stored_json(rows), "count": len(rows), **values})
