"""Creates a new run in the transaction that journals its first calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from execution.changes import RunChanges
from execution.process.adopted_call import CannotAdopt
from execution.run_dependencies import (
    RunDependencies,
    RunsUnavailable,
    retry_until_available,
    run_in_database,
)
from execution.status import TaskStatus
from execution.store import leases, writing
from execution.store import runs as run_store
from execution.store.runs import FIRST_EPOCH, FIRST_VERSION, CreatedRun, NewRun


class RunNotCreated(Exception):
    """The run was not created, or is not to be executed here."""


class RunCreation:
    """A run to be created and executed by this process; for one event loop.

    It is created together with its first changes, so that its first calls wait for one commit
    instead of two. Until then it exists only here.

    Args:
        new: The requested run, owned by this process.
        dependencies: Of this process.
        is_sent: Whether its only call is in flight already. It is then created with this call
            recorded or not at all: another process would make the call again.
    """

    def __init__(
        self, new: NewRun, dependencies: RunDependencies, *, is_sent: bool = False
    ) -> None:
        self.created: asyncio.Future[CreatedRun] = asyncio.get_running_loop().create_future()
        """Resolves to the run, or to the error."""
        self.created.add_done_callback(_consume_exception)
        self._new = new
        self._dependencies = dependencies
        self._creation_task: asyncio.Task[CreatedRun] | None = None
        self._is_answered = True
        self._is_sent = is_sent

    @property
    def is_created(self) -> bool:
        """Whether the requester knows that it exists."""
        created = self.created
        return created.done() and not created.cancelled() and created.exception() is None

    async def create_with_changes(self, changes: RunChanges) -> None:
        """Create the run with its first changes.

        Cancelling this does not stop the creation; `ensure_settled` waits for it.

        Raises:
            RunNotCreated: If an earlier request created it, or creation failed.
        """
        if self._is_sent and all(one.status is not TaskStatus.RUNNING for one in changes.tasks):
            raise RunNotCreated
        first = partial(
            writing.write_first_changes,
            changes=changes,
            version=FIRST_VERSION,
            sealer=self._dependencies.sealer,
            approval_expiry_s=self._dependencies.approval_expiry_s,
        )
        try:
            created = await asyncio.shield(self._start_creation(self._new, first))
            is_owner = created.is_new and (self._is_answered or await self._is_held())
        except RunsUnavailable as error:
            # Perhaps only the answer was lost; the requester has got the error already.
            if not await self._is_held():
                raise RunNotCreated from error
        except Exception as error:
            raise RunNotCreated from error
        else:
            if not is_owner:
                raise RunNotCreated

    def create_unclaimed(self) -> asyncio.Task[CreatedRun]:
        """Start creating the run for other processes to claim."""
        new = replace(self._new, owner="")
        return self._start_creation(new, self._dependencies.enqueue_run or _add_nothing)

    async def ensure_settled(self) -> None:
        """Make sure that the requester gets an answer, whatever happened here.

        If nothing was created here, the run is left to other processes.
        """
        if self._is_sent and self._creation_task is None:
            if not self.created.done():
                self.created.set_exception(CannotAdopt())
            return
        await asyncio.wait([self._creation_task or self.create_unclaimed()])

    def _start_creation(
        self, new: NewRun, also: Callable[[UUID], None]
    ) -> asyncio.Task[CreatedRun]:
        self._creation_task = asyncio.create_task(
            self._create_in_database(new, also),
            name=f"creation of run {new.run}",
        )
        self._creation_task.add_done_callback(self._forward_outcome)
        return self._creation_task

    async def _create_in_database(self, new: NewRun, also: Callable[[UUID], None]) -> CreatedRun:
        try:
            return await run_in_database(
                run_store.create_run, new, sealer=self._dependencies.sealer, also=also
            )
        except RunsUnavailable:
            self._is_answered = False
            # A requester told that it failed would start another one.
            if await run_in_database(run_store.run_exists, new.run):
                return CreatedRun(run=new.run, is_new=True)
            raise

    async def _is_held(self) -> bool:
        """Whether this process still holds the run: its lease may have lapsed meanwhile."""
        epochs = {self._new.run: FIRST_EPOCH}
        held = await retry_until_available(
            leases.renew_leases, self._new.owner, epochs, lease_s=self._dependencies.lease_s
        )
        return self._new.run in held

    def _forward_outcome(self, creation: asyncio.Task[CreatedRun]) -> None:
        if self.created.done():
            return
        if creation.cancelled():
            self.created.cancel()
        elif error := creation.exception():
            self.created.set_exception(error)
        else:
            self.created.set_result(creation.result())


def _consume_exception(created: asyncio.Future[CreatedRun]) -> None:
    """Mark the exception as retrieved; the requester may be gone."""
    if not created.cancelled():
        created.exception()


def _add_nothing(_run: UUID) -> None:
    """Add nothing to the creating transaction."""
