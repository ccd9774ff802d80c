"""What a process carries out runs with, and by which rules."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, ParamSpec, TypeVar
from uuid import UUID

import django.db
import structlog

from execution.call import Upstream
from execution.store.patience import Patience
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import in_database, is_away
from gateway_project.foundation.reasons import first_line
from gateway_project.foundation.sealing import Sealer
from tools.catalogue import Catalogue

RightsNow = Callable[[Caller], Caller]
"""Returns what a caller may still do of what they might; blocking; raises `LookupError` if they
are gone."""

RUNS_AT_ONCE: Final = 256
FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0

P = ParamSpec("P")
R = TypeVar("R")

log = structlog.get_logger(__name__)


class RunsUnavailable(Exception):
    """Runs cannot be reached, since the database is away."""

    code: ClassVar[str] = "database_unavailable"

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            f"runs are out of reach while the database is: {first_line(error)}; "
            "try again in a moment, `manage.py doctor` says more"
        )


@dataclass(frozen=True, kw_only=True)
class RunMeans:
    """What a process carries out runs with, and by which rules.

    Attributes:
        home: Folder of the installation.
        catalogue: What is known of servers and tools right now.
        upstream: The pool of upstream servers.
        sealer: Seals what runs were given and answered, and makes digests.
        standing: What a caller may still do.
        learned: Told of each run that has ended here; returns at once and never raises.
        defer: Called for a run that this process does not start itself, inside the transaction
            that makes it; blocking.
        lease_s: Seconds without a sign of life after which others take a run over.
        tasks_at_once: Tasks that this process runs at once.
        tasks_per_server: Tasks that call one server at once.
        runs_at_once: Runs that this process carries out at once, of one user in one team half as
            many; others stay queued. Beside them come a few that were told something.
        approval_expiry_s: Seconds in which a call can be approved.
        payload_days: Days that what runs were given and answered is kept.
        run_days: Days that runs and their events are kept.
        grace_s: Seconds that calls in flight are given when this process is to end.
        executes: Whether runs are carried out here at all.
        claims: Whether runs are taken that others started or left.
        claims_new: Whether also those that nobody has taken yet; False: a queue hands them out.
    """

    home: Path
    catalogue: Callable[[], Catalogue]
    upstream: Upstream[Any]
    sealer: Sealer
    standing: RightsNow
    learned: Callable[[UUID], Awaitable[None]] | None = None
    defer: Callable[[UUID], None] | None = None
    lease_s: float = 15.0
    tasks_at_once: int = 64
    tasks_per_server: int = 8
    runs_at_once: int = RUNS_AT_ONCE
    approval_expiry_s: float = 86_400.0
    payload_days: float = 7.0
    run_days: float = 90.0
    grace_s: float = 2.0
    executes: bool = True
    claims: bool = True
    claims_new: bool = True


async def reached(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a store function on a database thread.

    Raises:
        RunsUnavailable: If the database is away.
    """
    try:
        return await in_database(function, *args, **kwargs)
    except django.db.Error as error:
        if is_away(error):
            raise RunsUnavailable(error) from error
        raise


async def at_last(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a store function as soon as the database is there."""
    retry_s, patience = FIRST_RETRY_S, Patience()
    while True:
        try:
            with patience.trying():
                return await reached(function, *args, **kwargs)
        except RunsUnavailable as error:
            log.warning("runs.database_away", error=first_line(error.__cause__ or error))
        await asyncio.sleep(retry_s)
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)
