"""Which entries of a batch may be written: by epoch, by approval, and each only once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
from django.db import connection
from django.db.models.functions import Now

from execution.changes import Changes, Fenced, NotApproved, TaskChange
from execution.models import Approval
from execution.store import prepared
from execution.store.escaping import stored

Refusal = Fenced | NotApproved

LONGEST_STILL: Final = f"{prepared.LONGEST_S}s"
"""A process that stands still amid a transaction loses its locks after so long, so that others can
take its runs over."""

_LOCK = f"""
SELECT id, epoch, owner, last_seq, version,
       set_config('idle_in_transaction_session_timeout', '{LONGEST_STILL}', true)
FROM execution_workflowexecution
WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE
"""

_REQUIRE = """
WITH given AS (
SELECT * FROM unnest(%(runs)s::uuid[], %(epochs)s::int[], %(seqs)s::bigint[])
    AS row (run, epoch, seq)),
held AS MATERIALIZED (
SELECT id, epoch, owner, last_seq FROM execution_workflowexecution
WHERE id = ANY(%(runs)s) ORDER BY id FOR NO KEY UPDATE)
SELECT 1 / (count(*) = %(count)s)::int, now()
FROM held JOIN given ON given.run = held.id
WHERE held.epoch = given.epoch AND held.owner <> '' AND held.last_seq < given.seq
"""
"""Fails by a division by zero where a run is not held so."""
NO_SEQ: Final = 2**63 - 1
"""Stands for the number of an event where there is none: it is after any other."""

_PRESENT = """
SELECT run_id, seq FROM execution_executionevent
WHERE (run_id, seq) IN (SELECT * FROM unnest(%s::uuid[], %s::bigint[]))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """How a run is held.

    Attributes:
        epoch: Of the newest hold.
        owner: Process that holds it; empty: nobody.
        last_seq: Number of its newest event.
        version: Of its workflow.
    """

    epoch: int
    owner: str
    last_seq: int
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What becomes of an entry.

    Attributes:
        refusal: Why it may not be written; None: it may, or it is already.
        is_new: Whether it is to be written now.
    """

    refusal: Refusal | None = None
    is_new: bool = False


_ACCEPTED: Final = Verdict(is_new=True)
_WRITTEN: Final = Verdict()


def locked(runs: Iterable[UUID]) -> dict[UUID, Hold]:
    """Return how runs are held, and keep others from changing that in this transaction."""
    with prepared.cursor() as cursor:
        cursor.execute(_LOCK, [sorted(set(runs))])
        return {
            run: Hold(epoch=epoch, owner=owner, last_seq=last_seq, version=version)
            for run, epoch, owner, last_seq, version, _ in cursor.fetchall()
        }


def is_plain(batch: Sequence[Changes]) -> bool:
    """Whether all that is to be judged about a batch is whether its runs are held."""
    epochs: dict[UUID, int] = {}
    return all(
        changes.workflow is None
        and not _wanted(changes)
        and epochs.setdefault(changes.run, changes.epoch) == changes.epoch
        for changes in batch
    )


def require(cursor: psycopg.Cursor[Any], batch: Sequence[Changes]) -> None:
    """Let the transaction fail unless all of a plain batch is new and its runs are held.

    Until the transaction ends, others cannot change that. What the cursor then has is a row whose
    second column is the time of the transaction. `prepared.is_unmet` knows the error.
    """
    seqs: dict[UUID, int] = {}
    for changes in batch:
        first = changes.events[0].seq if changes.events else NO_SEQ
        seqs[changes.run] = min(first, seqs.get(changes.run, NO_SEQ))
    epochs = {changes.run: changes.epoch for changes in batch}
    values = {
        "runs": list(seqs),
        "epochs": [epochs[run] for run in seqs],
        "seqs": list(seqs.values()),
        "count": len(seqs),
    }
    cursor.execute(_REQUIRE, values)


def judge(batch: Sequence[Changes], holds: dict[UUID, Hold]) -> list[Verdict]:
    """Decide about each entry of a batch whose runs are locked."""
    present = _present(batch, holds)
    leaves = _leaves(batch)
    return [_verdict(changes, holds.get(changes.run), present, leaves) for changes in batch]


def _verdict(
    changes: Changes,
    hold: Hold | None,
    present: set[tuple[UUID, int]],
    leaves: dict[UUID, Approval],
) -> Verdict:
    if hold is None or hold.epoch != changes.epoch:
        return Verdict(refusal=Fenced(changes.run))
    # Before it is asked who holds the run: with its end, a run is given back.
    if changes.events and (changes.run, changes.events[0].seq) in present:
        return _WRITTEN
    if not hold.owner:
        return Verdict(refusal=Fenced(changes.run))
    wanted = _wanted(changes)
    ids = {pk for pk, _ in wanted}
    fit = all(_fits(leaves.get(pk), changes.run, change) for pk, change in wanted)
    if not fit or len(ids) < len(wanted):
        calls = ", ".join(repr(change.task) for _, change in wanted)
        return Verdict(refusal=NotApproved(f"run {changes.run}: not approved: {calls}"))
    for pk in ids:
        del leaves[pk]
    return _ACCEPTED


def _wanted(changes: Changes) -> list[tuple[UUID, TaskChange]]:
    """Return the calls that use up an approval, each with its own."""
    return [(one.approval, one) for one in changes.tasks if one.approval is not None]


def _present(batch: Sequence[Changes], holds: dict[UUID, Hold]) -> set[tuple[UUID, int]]:
    """Return first events of entries that are there already; mostly without asking."""
    suspects = [
        (changes.run, changes.events[0].seq)
        for changes in batch
        if changes.events
        and (hold := holds.get(changes.run)) is not None
        and changes.events[0].seq <= hold.last_seq
    ]
    if not suspects:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, [[run for run, _ in suspects], [seq for _, seq in suspects]])
        return {(run, seq) for run, seq in cursor.fetchall()}


def _leaves(batch: Sequence[Changes]) -> dict[UUID, Approval]:
    """Return the approvals that the batch wants to use and may, locked."""
    wanted = {pk for changes in batch for pk, _ in _wanted(changes)}
    if not wanted:
        return {}
    rows = Approval.objects.select_for_update(no_key=True).filter(
        id__in=wanted, status=Approval.Status.APPROVED, expires_at__gt=Now()
    )
    return {row.pk: row for row in rows.order_by("id")}


def _fits(leave: Any, run: UUID, change: TaskChange) -> bool:
    """Whether an approval is for exactly this call."""
    return (
        leave is not None
        and leave.run_id == run
        and (leave.task, leave.item) == (stored(change.task), change.item)
        and leave.definition_hash == change.definition_hash
        and leave.arguments_digest == change.arguments_digest
    )
