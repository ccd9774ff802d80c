"""Takes up a run from its rows, or fails it where it cannot be gone on with."""

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
from execution.run_means import RunMeans, at_last
from execution.running.standing import Standing
from execution.store import closing, force_acquire, leases
from execution.store.leases import Held
from execution.workflow import Workflow
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import SealBroken
from tools.catalogue import UnknownTool

SEALED: Final = "sealed"
NOT_PERMITTED: Final = "not_permitted"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """A run that this process has taken.

    Attributes:
        standing: How it stands; None: it had to be failed, and is over.
        caller: Who it runs for, with the rights that are left to them; None: it is over.
        clock: What its deadline was set by, as it was when it was taken.
    """

    standing: Standing | None
    caller: Caller | None = None
    clock: Callable[[], datetime] = field(default_factory=steady_clock.clock)


class CannotGoOn(Exception):
    """A run cannot be gone on with, now or later.

    Attributes:
        code: Stable word.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def adopt(
    run: UUID, means: RunMeans, *, me: str, dead: Collection[str] = ()
) -> Adopted | None:
    """Take a run and read how it stands; what cannot be read is failed, and not tried again.

    Args:
        run: Its id.
        means: Of this process.
        me: This process, as others know it.
        dead: Owners known to be gone.

    Returns:
        The run; None: it is not to be had.
    """
    try:
        held = await at_last(
            leases.acquire,
            run,
            owner=me,
            lease_s=means.lease_s,
            sealer=means.sealer,
            # From itself too: it was taken already if only the answer to that was lost.
            dead=[*dead, me],
        )
        clock = steady_clock.clock()
        if held is None:
            return None
        caller = await _standing_of(held.caller, means)
        standing = recover.standing(held, _workflow(held), repeatable=_asked(means, caller))
    except SealBroken as error:
        reason = CannotGoOn(SEALED, str(error))
    except CannotGoOn as error:
        reason = error
    else:
        log.info("run.adopted", run=str(run), was_lost=held.was_lost, status=held.status.value)
        return Adopted(caller=caller, standing=standing, clock=clock)
    failed = await fail(run, reason, means, me=me, dead=dead)
    return Adopted(standing=None) if failed else None


async def fail(
    run: UUID, reason: CannotGoOn, means: RunMeans, *, me: str, dead: Collection[str] = ()
) -> bool:
    """Fail a run that is this process's, or is to be had; say whether it was."""
    log.error("run.failed", run=str(run), code=reason.code, reason=str(reason))
    return await at_last(_fail, run, reason, means, me=me, dead=dead)


def _fail(
    run: UUID, reason: CannotGoOn, means: RunMeans, *, me: str, dead: Collection[str]
) -> bool:
    with transaction.atomic():
        seized = force_acquire.seize(run, me=me, dead=dead)
        if seized is None:
            return False
        closing.end([seized], code=reason.code, error=str(reason), sealer=means.sealer)
    return True


async def _standing_of(caller: Caller, means: RunMeans) -> Caller:
    try:
        return await at_last(means.standing, caller)
    except LookupError as error:
        raise CannotGoOn(NOT_PERMITTED, f"{caller.user!r} may run nothing now: {error}") from None


def _workflow(held: Held) -> Workflow:
    if held.workflow is None:
        raise CannotGoOn(
            EXPIRED, "what the run was to do is kept no longer; start it again if it is needed"
        )
    try:
        return parse.parse(held.workflow)
    except parse.InvalidWorkflow as error:
        raise CannotGoOn(error.code, f"the workflow as kept cannot be read: {error}") from None


def _asked(means: RunMeans, caller: Caller) -> recover.Repeatable:
    """Ask the catalogue, as the caller sees it now."""

    def repeatable(tool: str, definition_hash: str) -> bool:
        try:
            found = means.catalogue().find(tool, caller)
        except UnknownTool:
            return False
        return found.repeatable and found.definition_hash == definition_hash

    return repeatable
