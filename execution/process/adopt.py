"""Adopts a run from its rows, or marks it failed if it cannot be resumed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction

from execution.changes import WHOLE_TASK
from execution.codes import NOT_PERMITTED
from execution.process import steady_clock
from execution.run_dependencies import RunDependencies, retry_until_available
from execution.snapshot import CannotResume, RunSnapshot
from execution.status import TaskStatus
from execution.store import closing, leases
from gateway_project.foundation.caller import Caller
from tools.catalogue import UnknownTool

log = structlog.get_logger(__name__)


async def adopt_run(
    run: UUID, dependencies: RunDependencies, *, me: str, dead: Collection[str] = ()
) -> tuple[RunSnapshot, Callable[[], datetime]] | None:
    """Claim a run and restore its state.

    Args:
        run: Its id.
        dependencies: Of this process.
        me: Id of this process as an owner.
        dead: Owners known to have ended.

    Returns:
        The run, with the current rights of its caller, and the clock that its deadline refers to,
        started at the claim; None: it cannot be claimed.

    Raises:
        CannotResume: If it was claimed and cannot be restored; it is to be marked failed.
    """
    leased = await retry_until_available(
        leases.acquire_lease,
        run,
        owner=me,
        lease_s=dependencies.lease_s,
        sealer=dependencies.sealer,
        # Including itself: an earlier claim may have succeeded with its answer lost.
        dead=[*dead, me],
    )
    clock = steady_clock.make_steady_clock()
    if leased is None:
        return None
    caller = await _load_current_rights(leased.caller, dependencies)
    snapshot = requeue_repeatable_calls(
        replace(leased, caller=caller), _make_repeatable_check(dependencies, caller)
    )
    log.info("run.adopted", run=str(run), was_lost=leased.was_lost, status=leased.status.value)
    return snapshot, clock


async def fail_run(
    run: UUID,
    failure: CannotResume,
    dependencies: RunDependencies,
    *,
    me: str,
    dead: Collection[str] = (),
) -> bool:
    """Mark a run failed that this process holds or can claim; return whether it did."""
    log.error("run.failed", run=str(run), code=failure.code, reason=str(failure))
    return await retry_until_available(
        _end_as_failed, run, failure, dependencies, me=me, dead=dead
    )


def _end_as_failed(
    run: UUID,
    failure: CannotResume,
    dependencies: RunDependencies,
    *,
    me: str,
    dead: Collection[str],
) -> bool:
    with transaction.atomic():
        seized_run = closing.seize_run(run, me=me, dead=dead)
        if seized_run is None:
            return False
        closing.end_runs(
            [seized_run], code=failure.code, error=str(failure), sealer=dependencies.sealer
        )
    return True


async def _load_current_rights(caller: Caller, dependencies: RunDependencies) -> Caller:
    try:
        return await retry_until_available(dependencies.refresh_rights, caller)
    except LookupError as error:
        raise CannotResume(
            NOT_PERMITTED, f"{caller.user!r} may not run anything now: {error}"
        ) from None


def _make_repeatable_check(dependencies: RunDependencies, caller: Caller) -> IsRepeatable:
    """Check repeatability in the catalogue as the caller sees it now."""

    def repeatable(tool: str, definition_hash: str) -> bool:
        try:
            found = dependencies.catalogue().find_tool(tool, caller)
        except UnknownTool:
            return False
        return found.repeatable and found.definition_hash == definition_hash

    return repeatable


IsRepeatable = Callable[[str, str], bool]
"""Whether a call of a tool (id, definition hash) may be repeated."""


def requeue_repeatable_calls(snapshot: RunSnapshot, is_repeatable: IsRepeatable) -> RunSnapshot:
    """Make the calls pending that were in flight and may be repeated.

    A call may be repeated only if the definition is still the one that was called: what an admin
    or server says of another definition does not apply. One that stays running is lost: the
    executor records it as unknown. Tasks that the workflow no longer has are left out.
    """
    tasks = {}
    for key, task in snapshot.tasks.items():
        workflow_task = snapshot.workflow.by_id.get(key[0])
        if workflow_task is None:
            continue
        # A for-each task is not a call itself; its items are.
        is_call = workflow_task.for_each is None or key[1] != WHOLE_TASK
        was_in_flight = is_call and task.status is TaskStatus.RUNNING
        if was_in_flight and is_repeatable(workflow_task.tool, task.definition_hash):
            tasks[key] = replace(task, status=TaskStatus.PENDING)
        else:
            tasks[key] = task
    return replace(snapshot, tasks=tasks)
