"""Creation of runs, once per idempotency key; delivery of direct calls; runs by user."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import DataError, transaction
from django.db.models import Count, Q
from django.db.models.functions import Now

from execution import events
from execution.changes import WHOLE_TASK
from execution.models import WorkflowExecution
from execution.status import RunStatus
from execution.store import payloads, prepared
from execution.store.escaping import escape_json
from execution.store.payloads import PayloadKind, SealedPayload
from execution.workflow import OnError, RunOptions
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.text import strip_invisible
from gateway_project.foundation.user_error import UserError

IDEMPOTENCY_KEY_HOURS: Final = 24
"""Hours for which an idempotency key identifies its run."""
MAX_ID_LENGTH: Final = 100
"""Characters of an invalid run id that an error repeats."""
MAX_OPEN_RUNS: Final = 1_000
"""Unfinished runs per user and team; concurrent requests may exceed it slightly."""
FIRST_VERSION: Final = 1
FIRST_EPOCH: Final = 1
FIRST_SEQ: Final = 1
"""Initial workflow version, epoch and event number of a run."""
MAX_ATTEMPTS: Final = 5
"""The run with the key may be deleted during the lookup; hardly twice."""

_FINISHED: Final = [status.value for status in RunStatus if status.is_final]

_CLEAR_KEY = """
UPDATE execution_workflowexecution SET idempotency_key = ''
WHERE "user" = %(user)s AND team_id IS NOT DISTINCT FROM %(team)s AND idempotency_key = %(key)s
  AND created_at <= now() - make_interval(hours => %(hours)s)
"""

_INSERT_RUN = f"""
WITH made AS (
INSERT INTO execution_workflowexecution (
    id, "user", team_id, tool_group, scopes, kind, is_direct, status, options, version,
    tasks_total, idempotency_key, request_digest, owner, epoch, lease_until, last_seq,
    error_code, created_at, changed_at, deadline_at, learned_at, delivered_at)
VALUES (
    %(run)s, %(user)s, %(team)s, %(group)s, %(scopes)s, %(kind)s, %(is_direct)s, 'queued',
    %(options)s, %(version)s, %(tasks_total)s, %(key)s, %(request_digest)s, %(owner)s,
    %(epoch)s, now() + make_interval(secs => %(lease_s)s), 1, '', now(), now(),
    now() + make_interval(secs => %(deadline_s)s), CASE WHEN NOT %(teaches)s THEN now() END,
    CASE WHEN %(is_delivered)s THEN now() END)
ON CONFLICT ("user", team_id, idempotency_key) WHERE NOT (idempotency_key = '') DO NOTHING
RETURNING id),
tasks AS (
INSERT INTO execution_taskrun (
    run_id, task, item, position, tool, status, attempts, definition_hash, arguments_digest,
    error_code)
SELECT made.id, given.value ->> 0, {WHOLE_TASK}, given.place - 1, given.value ->> 1,
    'pending', 0, '', '', ''
FROM made, json_array_elements(%(tasks)s) WITH ORDINALITY AS given (value, place)),
event AS (
INSERT INTO execution_executionevent (run_id, seq, kind, task, item, at, data)
SELECT made.id, 1, %(event)s, '', {WHOLE_TASK}, now(), '{{}}' FROM made),
open AS (
SELECT count(*) AS runs FROM (
    SELECT FROM execution_workflowexecution
    WHERE "user" = %(user)s AND team_id IS NOT DISTINCT FROM %(team)s
      AND status IN ('queued', 'running', 'paused', 'waiting', 'unknown')
    LIMIT %(most)s) AS before)
"""

_TRY_INSERT = f"{_INSERT_RUN} SELECT open.runs FROM made, open"
_REQUIRE_INSERT = f"""{_INSERT_RUN}
SELECT 1 / (open.runs < %(most)s AND made.id IS NOT NULL)::int
FROM open LEFT JOIN made ON true
"""
"""Fails with a division by zero if the key is taken or too many runs are open."""


class UnknownRun(UserError, LookupError):
    """There is no such run, or it belongs to someone else."""

    code = "unknown_run"

    def __init__(self, run: object) -> None:
        super().__init__(
            f"you have no run {str(run)!r}; use the run_id that run_workflow returned"
        )
        self.run = run


def parse_run_id(text: str) -> UUID:
    """Return the id of a run.

    Raises:
        UnknownRun: If it is none.
    """
    try:
        return UUID(text)
    except ValueError:
        raise UnknownRun(strip_invisible(text[:MAX_ID_LENGTH])) from None


class IdempotencyConflict(UserError):
    """The idempotency key was used with a different request."""

    code = "idempotency_conflict"

    def __init__(self, run: UUID) -> None:
        super().__init__(
            f"this idempotency_key was already used with a different request (run {run}); use "
            "another key, or resend the same request"
        )
        self.run = run


class TooManyRuns(UserError):
    """The caller has the maximum number of unfinished runs."""

    code = "too_many_runs"

    def __init__(self) -> None:
        super().__init__(
            f"you have {MAX_OPEN_RUNS:,} unfinished runs; wait for some to end, or abort those "
            "you do not need"
        )


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run to create.

    Attributes:
        caller: Caller it acts for.
        workflow: JSON of the workflow, with canonical tool ids.
        tasks: Id and canonical tool of each task, in order.
        intent: Its intent; empty: none.
        options: Its options.
        idempotency_key: Idempotency key of the request; None: none.
        is_direct: Whether it is a single call of a conversation.
        is_delivered: Whether the same call, made again, is another one.
        owner: Process that holds it from the start; empty: any may claim it.
        lease_s: Length of the owner's lease in seconds.
        teaches: Whether it is learned from once it has ended.
        run: Its id.
    """

    caller: Caller
    workflow: Mapping[str, Any]
    tasks: Sequence[tuple[str, str]]
    intent: str = ""
    options: RunOptions = field(default_factory=RunOptions)
    idempotency_key: str | None = None
    is_direct: bool = False
    is_delivered: bool = False
    owner: str = ""
    lease_s: float = 0.0
    teaches: bool = True
    run: UUID = field(default_factory=uuid4)


@dataclass(frozen=True, kw_only=True)
class CreatedRun:
    """An existing run.

    Attributes:
        run: Its id.
        is_new: Whether this request created it; else an earlier one with the same key did.
    """

    run: UUID
    is_new: bool


def create_run(
    new: NewRun, *, sealer: Sealer, also: Callable[[UUID], None] = lambda _run: None
) -> CreatedRun:
    """Create a run, or find the one that this request has created before.

    Args:
        new: The requested run.
        sealer: Seals its payloads, and makes the digests.
        also: Further writes for its transaction, such as a queue job or its first changes.

    Raises:
        IdempotencyConflict: If the key was used with another request within
            `IDEMPOTENCY_KEY_HOURS`.
        TooManyRuns: If the caller has `MAX_OPEN_RUNS` unfinished runs.
    """
    row = _build_row(new, sealer)
    # Inserting would wait for whoever is writing to the run that has the key, such as a process
    # that was stopped amid a transaction; reading does not.
    if row["key"] and (known := _load_known(row)) is not None:
        return known
    sealed = _seal_payloads(row["run"], new, sealer)
    if new.owner and prepared.can_limit_transactions():
        try:
            return _insert_held(row, sealed, also)
        except DataError as error:
            if not prepared.is_unmet_requirement(error):
                raise
    for _ in range(MAX_ATTEMPTS):
        with transaction.atomic():
            if _insert_unless_known(row, new, sealed, also):
                return CreatedRun(run=row["run"], is_new=True)
            known = _load_known(row)
        if known is not None:
            return known
    raise RuntimeError("the idempotency key was repeatedly claimed and released; try again")


def run_exists(run: UUID) -> bool:
    """Whether a run exists."""
    return WorkflowExecution.objects.filter(id=run).exists()


def options_to_json(options: RunOptions) -> dict[str, Any]:
    """Return options in their stored form."""
    return {
        "on_error": options.on_error.value,
        "per_layer_validation": options.per_layer_validation,
        "deadline_s": options.deadline_s,
    }


def options_from_json(stored: Mapping[str, Any]) -> RunOptions:
    """Return the options that `options_to_json` wrote."""
    return RunOptions(
        on_error=OnError(stored.get("on_error", OnError.STOP)),
        per_layer_validation=bool(stored.get("per_layer_validation")),
        deadline_s=stored.get("deadline_s"),
    )


def _build_row(new: NewRun, sealer: Sealer) -> dict[str, Any]:
    workflow_digest = sealer.digest("workflow", new.workflow)
    options = options_to_json(new.options)
    key = new.idempotency_key
    return {
        "run": new.run,
        "user": new.caller.user,
        "team": new.caller.team,
        "group": new.caller.group or "",
        "scopes": json.dumps(sorted(new.caller.scopes)),
        "kind": new.caller.kind,
        "is_direct": new.is_direct,
        "is_delivered": new.is_delivered,
        "options": json.dumps(options),
        "version": FIRST_VERSION,
        "tasks_total": len(new.tasks),
        "key": "" if key is None else _digest_key(key, new.caller, sealer),
        "request_digest": sealer.digest("request", workflow_digest, new.intent, options),
        "owner": new.owner,
        "epoch": FIRST_EPOCH if new.owner else 0,
        "lease_s": new.lease_s if new.owner else None,
        "deadline_s": new.options.deadline_s,
        "hours": IDEMPOTENCY_KEY_HOURS,
        "most": MAX_OPEN_RUNS,
        "event": events.RUN_QUEUED,
        "teaches": new.teaches,
        "tasks": escape_json([[task, tool] for task, tool in new.tasks]),
    }


def _digest_key(key: str, caller: Caller, sealer: Sealer) -> str:
    """Return the digest of an idempotency key; callers limited to a group have their own keys."""
    if caller.group is None:
        return sealer.digest("idempotency key", key)
    return sealer.digest("idempotency key", key, caller.group)


def _seal_payloads(run: UUID, new: NewRun, sealer: Sealer) -> list[SealedPayload]:
    sealed = [
        payloads.seal_payload(
            new.workflow, run=run, kind=PayloadKind.WORKFLOW, item=FIRST_VERSION, sealer=sealer
        )
    ]
    if new.intent:
        sealed.append(
            payloads.seal_payload(new.intent, run=run, kind=PayloadKind.INTENT, sealer=sealer)
        )
    return sealed


def _insert_held(
    row: Mapping[str, Any], sealed: Sequence[SealedPayload], also: Callable[[UUID], None]
) -> CreatedRun:
    """Insert a run held by this process, with everything that belongs to it, in one round trip.

    Raises:
        django.db.DataError: If its key is taken or its caller has too many; see
        `prepared.is_unmet_requirement`.
    """
    with prepared.transaction(size=sum(len(one.content) for one in sealed)):
        with prepared.cursor() as cursor:
            if row["key"]:
                cursor.execute(_CLEAR_KEY, row)
            cursor.execute(_REQUIRE_INSERT, row)
        payloads.insert_payloads(sealed)
        also(row["run"])
    return CreatedRun(run=row["run"], is_new=True)


def _insert_unless_known(
    row: Mapping[str, Any],
    new: NewRun,
    sealed: Sequence[SealedPayload],
    also: Callable[[UUID], None],
) -> bool:
    """Insert a run unless its key is taken; return whether it was inserted.

    Raises:
        TooManyRuns: If its caller has too many; the transaction must be rolled back.
    """
    with prepared.cursor() as cursor:
        if row["key"]:
            cursor.execute(_CLEAR_KEY, row)
        made = cursor.execute(_TRY_INSERT, row).fetchone()
    if made is None:
        return False
    if made[0] >= MAX_OPEN_RUNS:
        raise TooManyRuns
    payloads.insert_payloads(sealed)
    if not new.owner:
        notify.send_notification(notify.RUN_WORK, str(row["run"]))
    also(new.run)
    return True


def _load_known(row: Mapping[str, Any]) -> CreatedRun | None:
    """Return the run that the key identifies; None: there is none."""
    known = WorkflowExecution.objects.filter(
        user=row["user"],
        team=row["team"],
        idempotency_key=row["key"],
        created_at__gt=Now() - timedelta(hours=IDEMPOTENCY_KEY_HOURS),
    ).first()
    if known is None:
        return None
    if known.request_digest != row["request_digest"]:
        raise IdempotencyConflict(known.pk)
    return CreatedRun(run=known.pk, is_new=False)


def mark_delivered(run: UUID) -> bool:
    """Mark a direct call's outcome as delivered, or given up; the same call is a new run then.

    Args:
        run: Its id; no effect on other runs.

    Returns:
        Whether this was the first time.
    """
    undelivered = WorkflowExecution.objects.filter(
        pk=run, is_direct=True, delivered_at__isnull=True
    )
    # The key identifies the run of the same call; it is never one chosen by the caller.
    return undelivered.update(delivered_at=Now(), idempotency_key="") == 1


@dataclass(frozen=True, kw_only=True)
class UserRuns:
    """How many runs a user has."""

    total: int
    unfinished: int


def count_runs(user: str) -> UserRuns:
    """Count the runs that are kept under a user's name."""
    found = WorkflowExecution.objects.filter(user=user).aggregate(
        total=Count("pk"), unfinished=Count("pk", filter=~Q(status__in=_FINISHED))
    )
    return UserRuns(**found)
