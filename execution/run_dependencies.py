"""The collaborators and settings with which a process executes runs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar
from uuid import UUID

import django.db
import structlog

from execution.call import OnCallEnded, ignore_ended_call
from execution.speculation.calls import NO_SPECULATION, Speculation
from execution.store.retry_patience import RetryPatience
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import is_database_away, run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.user_error import UserError
from tools.catalogue import Catalogue

if TYPE_CHECKING:
    from tools.pinned_upstream import PinnedUpstream

RefreshRights = Callable[[Caller], Caller]
"""Returns a caller with their current rights; blocking; raises `LookupError` if they no longer
have any."""

DEFAULT_RUNS_AT_ONCE: Final = 256
FIRST_RETRY_S: Final = 0.05
LONGEST_RETRY_S: Final = 2.0
"""Short, so that work resumes soon after the database is back."""

P = ParamSpec("P")
R = TypeVar("R")

log = structlog.get_logger(__name__)


class RunsUnavailable(UserError):
    """Runs are unavailable because the database is."""

    code = "database_unavailable"

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            f"runs are unavailable without the database: {summarize_error(error)}; try again in a "
            "moment, or run `manage.py doctor`"
        )


@dataclass(frozen=True, kw_only=True)
class RunDependencies:
    """The collaborators and settings with which a process executes runs.

    Attributes:
        home: Folder of the installation.
        catalogue: Returns the current catalogue.
        upstream: The pool of upstream servers.
        sealer: Seals payloads of runs, and makes digests.
        refresh_rights: Returns a caller's current rights.
        on_call_ended: Called for each call of a task that ended here.
        on_run_ended: Called for each run that ended here; returns at once and never raises.
        enqueue_run: Called in the creating transaction of a run that this process does not start
            itself; blocking.
        lease_s: Seconds without renewal after which others may claim a run.
        tasks_at_once: Maximum concurrent calls in this process.
        tasks_per_server: Maximum concurrent calls per server.
        runs_at_once: Maximum concurrent runs in this process; half as many per user and team.
            Others stay queued. A few slots more serve runs with instructions.
        approval_expiry_s: Seconds until a pending approval expires.
        payload_days: Days that payloads of runs are kept.
        run_days: Days that runs and their events are kept.
        grace_s: Grace period for calls in flight at shutdown, in seconds.
        is_executor: Whether this process executes runs.
        can_claim_runs: Whether it claims runs that others started or released.
        can_claim_new_runs: Whether it also claims runs never claimed before; False: a queue
            distributes them.
        runs_teach: Whether the runs that it creates are learned from.
        speculation: Calls made ahead, which may answer calls of tasks.
    """

    home: Path
    catalogue: Callable[[], Catalogue]
    upstream: PinnedUpstream
    sealer: Sealer
    refresh_rights: RefreshRights
    on_call_ended: OnCallEnded = ignore_ended_call
    on_run_ended: Callable[[UUID], Awaitable[None]] | None = None
    enqueue_run: Callable[[UUID], None] | None = None
    lease_s: float = 15.0
    tasks_at_once: int = 64
    tasks_per_server: int = 8
    runs_at_once: int = DEFAULT_RUNS_AT_ONCE
    approval_expiry_s: float = 86_400.0
    payload_days: float = 7.0
    run_days: float = 90.0
    grace_s: float = 2.0
    is_executor: bool = True
    can_claim_runs: bool = True
    can_claim_new_runs: bool = True
    runs_teach: bool = True
    speculation: Speculation = NO_SPECULATION


async def run_in_database(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a store function on a database thread.

    Raises:
        RunsUnavailable: If the database is unavailable.
    """
    try:
        return await run_in_database_thread(function, *args, **kwargs)
    except django.db.Error as error:
        if is_database_away(error):
            raise RunsUnavailable(error) from error
        raise


async def retry_until_available(
    function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a store function, retrying until the database is available; logs the first failure."""
    retry_s, patience = FIRST_RETRY_S, RetryPatience()
    while True:
        try:
            with patience.extend_timeouts():
                return await run_in_database(function, *args, **kwargs)
        except RunsUnavailable as error:
            if retry_s == FIRST_RETRY_S:
                reason = summarize_error(error.__cause__ or error)
                log.warning("runs.database_unavailable", error=reason)
        await asyncio.sleep(retry_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)
