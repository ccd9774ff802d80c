"""Adopts a run from its rows, or marks it failed if it cannot be resumed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction

from execution.codes import EXPIRED
from execution.planning import parse
from execution.process import recover, steady_clock
from execution.run_dependencies import RunDependencies, retry_until_available
from execution.running.snapshot import RunSnapshot
from execution.store import closing, force_acquire, leases
from execution.store.leases import LeasedRun
from execution.workflow import Workflow
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import UnsealingFailed
from tools.catalogue import UnknownTool

SEALED: Final = "sealed"
NOT_PERMITTED: Final = "not_permitted"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class AdoptedRun:
    """A run that this process has claimed.

    Attributes:
        snapshot: Its state; None: it could not be resumed and was failed.
        caller: Its caller with their current rights; None: it was failed.
        clock: The clock its deadline refers to, started at the claim.
    """

    snapshot: RunSnapshot | None
    caller: Caller | None = None
    clock: Callable[[], datetime] = field(default_factory=steady_clock.make_steady_clock)


class CannotResume(Exception):
    """A run cannot be resumed, now or later.

    Attributes:
        code: Stable error code.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def adopt_run(
    run: UUID, dependencies: RunDependencies, *, me: str, dead: Collection[str] = ()
) -> AdoptedRun | None:
    """Claim a run and restore its state; one that cannot be restored is marked failed.

    Args:
        run: Its id.
        dependencies: Of this process.
        me: Id of this process as an owner.
        dead: Owners known to have ended.

    Returns:
        The run; None: it cannot be claimed.
    """
    try:
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
        snapshot = recover.restore_snapshot(
            leased,
            _parse_workflow(leased),
            repeatable=_make_repeatable_check(dependencies, caller),
        )
    except UnsealingFailed as error:
        failure = CannotResume(SEALED, str(error))
    except CannotResume as error:
        failure = error
    else:
        log.info("run.adopted", run=str(run), was_lost=leased.was_lost, status=leased.status.value)
        return AdoptedRun(caller=caller, snapshot=snapshot, clock=clock)
    failed = await fail_run(run, failure, dependencies, me=me, dead=dead)
    return AdoptedRun(snapshot=None) if failed else None


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
        seized_run = force_acquire.seize_run(run, me=me, dead=dead)
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


def _parse_workflow(leased: LeasedRun) -> Workflow:
    if leased.workflow is None:
        raise CannotResume(
            EXPIRED, "the run's workflow is no longer stored; start it again if needed"
        )
    try:
        return parse.parse(leased.workflow)
    except parse.InvalidWorkflow as error:
        raise CannotResume(error.code, f"the stored workflow cannot be read: {error}") from None


def _make_repeatable_check(dependencies: RunDependencies, caller: Caller) -> recover.IsRepeatable:
    """Check repeatability in the catalogue as the caller sees it now."""

    def repeatable(tool: str, definition_hash: str) -> bool:
        try:
            found = dependencies.catalogue().find_tool(tool, caller)
        except UnknownTool:
            return False
        return found.repeatable and found.definition_hash == definition_hash

    return repeatable
