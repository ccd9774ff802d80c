"""New runs, each once for its idempotency key."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import DataError, transaction

from execution import events
from execution.changes import WHOLE_TASK
from execution.models import WorkflowExecution
from execution.store import payloads, prepared
from execution.store.escaping import stored_json
from execution.store.payloads import Kind, Sealed
from execution.workflow import OnError, Options
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer

KEY_HOURS: Final = 24
"""How long an idempotency key names its run."""
MAX_OPEN: Final = 1_000
"""Runs of one user in one team that have not ended; of requests at once a few more."""
FIRST_VERSION: Final = 1
FIRST_EPOCH: Final = 1
FIRST_SEQ: Final = 1
"""Of a new run: its workflow, its first hold, its first event."""
ATTEMPTS: Final = 5
"""The run that has a key may be removed while it is looked up; hardly twice."""

_FORGET_KEY = """
UPDATE execution_workflowexecution SET idempotency_key = ''
WHERE "user" = %(user)s AND team_id IS NOT DISTINCT FROM %(team)s AND idempotency_key = %(key)s
  AND created_at <= now() - make_interval(hours => %(hours)s)
"""

_MAKE = f"""
WITH made AS (
INSERT INTO execution_workflowexecution (
    id, "user", team_id, scopes, kind, is_direct, status, options, version, tasks_total,
    idempotency_key, request_digest, owner, epoch, lease_until, last_seq,
    error_code, created_at, changed_at, deadline_at)
VALUES (
    %(run)s, %(user)s, %(team)s, %(scopes)s, %(kind)s, %(is_direct)s, 'queued', %(options)s,
    %(version)s, %(tasks_total)s, %(key)s, %(request_digest)s, %(owner)s,
    %(epoch)s, now() + make_interval(secs => %(lease_s)s), 1, '', now(), now(),
    now() + make_interval(secs => %(deadline_s)s))
ON CONFLICT ("user", team_id, idempotency_key) WHERE NOT (idempotency_key = '') DO NOTHING
RETURNING id, created_at, deadline_at),
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

_INSERT = f"{_MAKE} SELECT open.runs FROM made, open"
_REQUIRE_INSERT = f"""{_MAKE}
SELECT 1 / (open.runs < %(most)s AND made.id IS NOT NULL)::int, made.created_at, made.deadline_at
FROM open LEFT JOIN made ON true
"""
"""Fails by a division by zero where its key is taken, or too many others are open."""


class UnknownRun(LookupError):
    """There is no such run, or it is somebody else's."""

    code = "unknown_run"

    def __init__(self, run: object) -> None:
        super().__init__(f"you have no run {str(run)!r}; run_workflow told its run_id")
        self.run = run


class IdempotencyConflict(Exception):
    """An idempotency key that was given with another request before."""

    code = "idempotency_conflict"

    def __init__(self, run: UUID) -> None:
        super().__init__(
            f"this idempotency_key was used with another request before (run {run}); "
            "give another key, or send the same request again"
        )
        self.run = run


class TooManyRuns(Exception):
    """A caller has as many runs that have not ended as may be."""

    code = "too_many_runs"

    def __init__(self) -> None:
        super().__init__(
            f"you have {MAX_OPEN:,} runs that have not ended; wait until some have, or abort "
            "those that are not needed"
        )


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run to be made.

    Attributes:
        caller: Who it runs for.
        workflow: JSON of it, tools by canonical id.
        tasks: Id and canonical tool of each task, in order.
        intent: What it is for, in words; empty: nothing was said.
        options: How it is carried out.
        idempotency_key: Of the request; None: none.
        is_direct: Whether it is a single call that has to wait for approval.
        owner: Process that holds it from the start; empty: any may take it.
        lease_s: Seconds that process holds it for.
        run: Id that it gets.
    """

    caller: Caller
    workflow: Mapping[str, Any]
    tasks: Sequence[tuple[str, str]]
    intent: str = ""
    options: Options = field(default_factory=Options)
    idempotency_key: str | None = None
    is_direct: bool = False
    owner: str = ""
    lease_s: float = 0.0
    run: UUID = field(default_factory=uuid4)


@dataclass(frozen=True, kw_only=True)
class Created:
    """A run that is there now.

    Attributes:
        run: Its id.
        is_new: Whether this request made it; else an earlier one with the same key.
        epoch: Of the owner's hold; 0: nobody's.
        last_seq: Number of its newest event.
        at: When it was made, by the clock of the database; None: that is not known here.
        deadline_at: When it is ended, likewise; None: never, or that is not known.
    """

    run: UUID
    is_new: bool
    epoch: int
    last_seq: int = FIRST_SEQ
    at: datetime | None = None
    deadline_at: datetime | None = None


def create(
    new: NewRun, *, sealer: Sealer, also: Callable[[UUID], None] = lambda _run: None
) -> Created:
    """Write a new run down, or find the one that this request has made already.

    Args:
        new: What is asked for.
        sealer: Seals what is kept of it, and makes the digests.
        also: What else belongs into its transaction, such as a job for it, or how it begins.

    Raises:
        IdempotencyConflict: If the key was given with another request within `KEY_HOURS`.
        TooManyRuns: If `MAX_OPEN` runs of the caller have not ended.
    """
    row = _row(new, sealer)
    sealed = _sealed(row["run"], new, sealer)
    if new.owner and prepared.can_limit():
        try:
            return _make(row, sealed, also)
        except DataError as error:
            if not prepared.is_unmet(error):
                raise
    for _ in range(ATTEMPTS):
        with transaction.atomic():
            if _insert(row, new, sealed, also):
                return Created(run=row["run"], is_new=True, epoch=row["epoch"])
            known = _known(row)
        if known is not None:
            return known
    raise RuntimeError("the idempotency key was taken and given up again and again; try once more")


def is_there(run: UUID) -> bool:
    """Whether a run has been written down."""
    return WorkflowExecution.objects.filter(id=run).exists()


def options_json(options: Options) -> dict[str, Any]:
    """Return options as they are stored."""
    return {
        "on_error": options.on_error.value,
        "per_layer_validation": options.per_layer_validation,
        "deadline_s": options.deadline_s,
    }


def options_of(stated: Mapping[str, Any]) -> Options:
    """Return the options that `options_json` wrote."""
    return Options(
        on_error=OnError(stated.get("on_error", OnError.STOP)),
        per_layer_validation=bool(stated.get("per_layer_validation")),
        deadline_s=stated.get("deadline_s"),
    )


def _row(new: NewRun, sealer: Sealer) -> dict[str, Any]:
    workflow_digest = sealer.digest("workflow", new.workflow)
    options = options_json(new.options)
    key = new.idempotency_key
    return {
        "run": new.run,
        "user": new.caller.user,
        "team": new.caller.team,
        "scopes": json.dumps(sorted(new.caller.scopes)),
        "kind": new.caller.kind,
        "is_direct": new.is_direct,
        "options": json.dumps(options),
        "version": FIRST_VERSION,
        "tasks_total": len(new.tasks),
        "key": "" if key is None else sealer.digest("idempotency key", key),
        "request_digest": sealer.digest("request", workflow_digest, new.intent, options),
        "owner": new.owner,
        "epoch": FIRST_EPOCH if new.owner else 0,
        "lease_s": new.lease_s if new.owner else None,
        "deadline_s": new.options.deadline_s,
        "hours": KEY_HOURS,
        "most": MAX_OPEN,
        "event": events.RUN_QUEUED,
        "tasks": stored_json([[task, tool] for task, tool in new.tasks]),
    }


def _sealed(run: UUID, new: NewRun, sealer: Sealer) -> list[Sealed]:
    sealed = [
        payloads.seal(new.workflow, run=run, kind=Kind.WORKFLOW, item=FIRST_VERSION, sealer=sealer)
    ]
    if new.intent:
        sealed.append(payloads.seal(new.intent, run=run, kind=Kind.INTENT, sealer=sealer))
    return sealed


def _make(
    row: Mapping[str, Any], sealed: Sequence[Sealed], also: Callable[[UUID], None]
) -> Created:
    """Write a run that this process holds, and what belongs to it, in one round trip.

    Raises:
        django.db.DataError: If its key is taken, or its caller has too many; `prepared.is_unmet`
            knows it.
    """
    with prepared.cursor() as made:
        with prepared.transaction(size=sum(len(one.content) for one in sealed)):
            if row["key"]:
                with prepared.cursor() as cursor:
                    cursor.execute(_FORGET_KEY, row)
            made.execute(_REQUIRE_INSERT, row)
            payloads.insert(sealed)
            also(row["run"])
        ((_, at, deadline_at),) = made.fetchall()
    return Created(run=row["run"], is_new=True, epoch=row["epoch"], at=at, deadline_at=deadline_at)


def _insert(
    row: Mapping[str, Any], new: NewRun, sealed: Sequence[Sealed], also: Callable[[UUID], None]
) -> bool:
    """Write the run and what belongs to it, unless its key is taken; say whether it was.

    Raises:
        TooManyRuns: If its caller has too many; nothing may be committed then.
    """
    with prepared.cursor() as cursor:
        if row["key"]:
            cursor.execute(_FORGET_KEY, row)
        made = cursor.execute(_INSERT, row).fetchone()
    if made is None:
        return False
    if made[0] >= MAX_OPEN:
        raise TooManyRuns
    payloads.insert(sealed)
    if not new.owner:
        notify.send(notify.RUN_WORK, str(row["run"]))
    also(new.run)
    return True


def _known(row: Mapping[str, Any]) -> Created | None:
    """Return the run that has the key; None: it has gone in between."""
    known = WorkflowExecution.objects.filter(
        user=row["user"], team=row["team"], idempotency_key=row["key"]
    ).first()
    if known is None:
        return None
    if known.request_digest != row["request_digest"]:
        raise IdempotencyConflict(known.pk)
    return Created(run=known.pk, is_new=False, epoch=0, last_seq=known.last_seq)
