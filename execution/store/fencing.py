"""Decides which entries of a batch may be written: by epoch and approval, and each only once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from execution.changes import CallNotApproved, RunChanges, RunFenced, TaskChange
from execution.models import Approval
from execution.store import prepared
from execution.store.escaping import escape_text

Refusal = RunFenced | CallNotApproved

MAX_IDLE_TIME: Final = f"{prepared.MAX_TRANSACTION_S}s"
"""A process stalled within a transaction loses its locks after this time, so that others can claim
its runs."""

_LOCK = f"""
SELECT id, epoch, owner, last_seq, version,
       set_config('idle_in_transaction_session_timeout', '{MAX_IDLE_TIME}', true)
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
SELECT 1 / (count(*) = %(count)s)::int
FROM held JOIN given ON given.run = held.id
WHERE held.epoch = given.epoch AND held.owner <> '' AND held.last_seq < given.seq
"""
"""Fails with a division by zero unless all runs are held as given."""
NO_SEQ: Final = 2**63 - 1
"""Sequence number used for entries without events; greater than any other."""

_FIND_EVENTS = """
SELECT run_id, seq FROM execution_executionevent
WHERE (run_id, seq) IN (SELECT * FROM unnest(%s::uuid[], %s::bigint[]))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLease:
    """The current lease of a run.

    Attributes:
        epoch: Epoch of the newest claim.
        owner: Process that holds it; empty: none.
        last_seq: Sequence number of its newest event.
        version: Version of its workflow.
    """

    epoch: int
    owner: str
    last_seq: int
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FencingVerdict:
    """The verdict on an entry.

    Attributes:
        refusal: Why it is refused; None: allowed, or already written.
        is_new: Whether it must be written now.
    """

    refusal: Refusal | None = None
    is_new: bool = False


_ACCEPTED: Final = FencingVerdict(is_new=True)
_ALREADY_WRITTEN: Final = FencingVerdict()


def lock_leases(runs: Iterable[UUID]) -> dict[UUID, RunLease]:
    """Return the leases of runs, locked for this transaction."""
    with prepared.cursor() as cursor:
        cursor.execute(_LOCK, [sorted(set(runs))])
        return {
            run: RunLease(epoch=epoch, owner=owner, last_seq=last_seq, version=version)
            for run, epoch, owner, last_seq, version, _ in cursor.fetchall()
        }


def has_only_lease_checks(batch: Sequence[RunChanges]) -> bool:
    """Whether the batch only needs lease checks: no approvals, no replans, one epoch per run."""
    epochs: dict[UUID, int] = {}
    return all(
        changes.workflow is None
        and not _list_approval_uses(changes)
        and epochs.setdefault(changes.run, changes.epoch) == changes.epoch
        for changes in batch
    )


def require_leases(batch: Sequence[RunChanges]) -> None:
    """Make the transaction fail unless all entries are new and their runs are held.

    Locks the runs until the transaction ends. `prepared.is_unmet_requirement` recognises the
    error.
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
    with prepared.cursor() as cursor:
        cursor.execute(_REQUIRE, values)


def judge_entries(
    batch: Sequence[RunChanges], leases: dict[UUID, RunLease]
) -> list[FencingVerdict]:
    """Judge each entry of a batch whose runs are locked."""
    written_events = _find_written(batch, leases)
    approvals = _lock_approvals(batch)
    return [
        _judge_entry(changes, leases.get(changes.run), written_events, approvals)
        for changes in batch
    ]


def _judge_entry(
    changes: RunChanges,
    lease: RunLease | None,
    written_events: set[tuple[UUID, int]],
    approvals: dict[UUID, Approval],
) -> FencingVerdict:
    if lease is None or lease.epoch != changes.epoch:
        return FencingVerdict(refusal=RunFenced(changes.run))
    # Checked before the owner, since the entry that ends a run also releases it.
    if changes.events and (changes.run, changes.events[0].seq) in written_events:
        return _ALREADY_WRITTEN
    if not lease.owner:
        return FencingVerdict(refusal=RunFenced(changes.run))
    wanted = _list_approval_uses(changes)
    ids = {pk for pk, _ in wanted}
    is_valid = all(_is_for_call(approvals.get(pk), changes.run, change) for pk, change in wanted)
    if not is_valid or len(ids) < len(wanted):
        calls = ", ".join(repr(change.task) for _, change in wanted)
        return FencingVerdict(refusal=CallNotApproved(f"run {changes.run}: not approved: {calls}"))
    for pk in ids:
        del approvals[pk]
    return _ACCEPTED


def _list_approval_uses(changes: RunChanges) -> list[tuple[UUID, TaskChange]]:
    """Return the task changes that consume an approval, with its key."""
    return [(one.approval, one) for one in changes.tasks if one.approval is not None]


def _find_written(
    batch: Sequence[RunChanges], leases: dict[UUID, RunLease]
) -> set[tuple[UUID, int]]:
    """Return the first events of entries that exist already; usually without a query."""
    suspects = [
        (changes.run, changes.events[0].seq)
        for changes in batch
        if changes.events
        and (lease := leases.get(changes.run)) is not None
        and changes.events[0].seq <= lease.last_seq
    ]
    if not suspects:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_FIND_EVENTS, [[run for run, _ in suspects], [seq for _, seq in suspects]])
        return {(run, seq) for run, seq in cursor.fetchall()}


def _lock_approvals(batch: Sequence[RunChanges]) -> dict[UUID, Approval]:
    """Lock and return the usable approvals that the batch consumes."""
    wanted = {pk for changes in batch for pk, _ in _list_approval_uses(changes)}
    if not wanted:
        return {}
    rows = Approval.objects.select_for_update(no_key=True).filter(
        id__in=wanted, status=Approval.Status.APPROVED, expires_at__gt=Now()
    )
    return {row.pk: row for row in rows.order_by("id")}


def _is_for_call(approval: Any, run: UUID, change: TaskChange) -> bool:
    """Whether an approval is for exactly this call."""
    return (
        approval is not None
        and approval.run_id == run
        and (approval.task, approval.item) == (escape_text(change.task), change.item)
        and approval.definition_hash == change.definition_hash
        and approval.arguments_digest == change.arguments_digest
    )
