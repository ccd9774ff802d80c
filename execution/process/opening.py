"""Makes a new run in the transaction in which its first calls are written down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from execution.changes import Changes
from execution.process.kept_answer import KeptAnswer
from execution.run_means import RunMeans, RunsUnavailable, at_last, reached
from execution.store import leases, writing
from execution.store import runs as run_store
from execution.store.runs import FIRST_EPOCH, FIRST_VERSION, Created, NewRun
from execution.store.writing import Written


class NotMade(Exception):
    """There is no such run to be carried out here."""


class Opening:
    """A run that is about to be made and carried out by this process; for one event loop.

    It is made with the first that happens to it, so that its first calls wait for one commit
    instead of two. Until then nothing of it is anywhere but here.

    Args:
        new: What is asked for; its owner is this process.
        means: Of this process.
    """

    def __init__(self, new: NewRun, means: RunMeans) -> None:
        self.made: asyncio.Future[Created] = asyncio.get_running_loop().create_future()
        """The run, or why there is none."""
        self.made.add_done_callback(_look_at)
        self._new = new
        self._means = means
        self._making: asyncio.Task[Created] | None = None
        self._is_answered = True

    async def make(self, changes: Changes) -> KeptAnswer:
        """Make the run with its first changes.

        Cancelling this stops nothing; `settle` waits for it.

        Returns:
            What knows how the run stands by then.

        Raises:
            NotMade: If an earlier request made it, or it could not be made.
        """
        first = partial(
            writing.write_first,
            changes=changes,
            version=FIRST_VERSION,
            sealer=self._means.sealer,
            approval_expiry_s=self._means.approval_expiry_s,
        )
        created = Created(run=self._new.run, is_new=True, epoch=FIRST_EPOCH)
        try:
            created = await asyncio.shield(self._create(self._new, first))
            is_mine = created.is_new and (self._is_answered or await self._is_held())
        except RunsUnavailable as error:
            # Only the answer may be lost. Whoever asked knows already that it may not be there.
            if not await self._is_held():
                raise NotMade from error
        except Exception as error:
            raise NotMade from error
        else:
            if not is_mine:
                raise NotMade
        answer = KeptAnswer(self._new, created)
        at = created.at
        answer.follow(changes, None if at is None else Written(at=at, sizes={}))
        return answer

    def leave(self) -> asyncio.Task[Created]:
        """Begin to make the run for others to take."""
        new = replace(self._new, owner="")
        return self._create(new, self._means.defer or _nothing_more)

    async def settle(self) -> None:
        """See to it that whoever asked for the run hears of it, whatever became of it here.

        If nothing has happened to it here, it is left to others.
        """
        await asyncio.wait([self._making or self.leave()])

    def _create(self, new: NewRun, also: Callable[[UUID], None]) -> asyncio.Task[Created]:
        self._making = asyncio.create_task(
            self._created(new, also),
            name=f"making of run {new.run}",
        )
        self._making.add_done_callback(self._pass_on)
        return self._making

    async def _created(self, new: NewRun, also: Callable[[UUID], None]) -> Created:
        try:
            return await reached(run_store.create, new, sealer=self._means.sealer, also=also)
        except RunsUnavailable:
            self._is_answered = False
            # Whoever is told that it is not there starts another one.
            if await reached(run_store.is_there, new.run):
                return Created(run=new.run, is_new=True, epoch=FIRST_EPOCH if new.owner else 0)
            raise

    async def _is_held(self) -> bool:
        """Whether the run is this process's: nobody else has found it, and its lease lapsed."""
        mine = {self._new.run: FIRST_EPOCH}
        held = await at_last(leases.renew, self._new.owner, mine, lease_s=self._means.lease_s)
        return self._new.run in held

    def _pass_on(self, making: asyncio.Task[Created]) -> None:
        if self.made.done():
            return
        if making.cancelled():
            self.made.cancel()
        elif error := making.exception():
            self.made.set_exception(error)
        else:
            self.made.set_result(making.result())


def _look_at(made: asyncio.Future[Created]) -> None:
    """Count an error as heard of: whoever asked may have gone."""
    if not made.cancelled():
        made.exception()


def _nothing_more(_run: UUID) -> None:
    """Add nothing to the transaction that makes a run."""
