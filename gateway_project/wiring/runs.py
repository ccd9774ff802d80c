"""The runs of the installation, as a gateway or a worker has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from execution.run_means import RUNS_AT_ONCE, RunMeans
from execution.runs import Runs
from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from execution.call import Upstream
    from gateway_project.wiring.follow import Current


def runs_of(
    current: Current,
    upstream: Upstream[Any],
    *,
    config: Config,
    works: int,
    claims: bool = True,
    learned: Callable[[UUID], Awaitable[None]] | None = None,
) -> Runs:
    """Return the runs of the installation.

    Args:
        current: What is known of servers and tools.
        upstream: The pool of upstream servers.
        config: Of the installation.
        works: Runs that are carried out here at once also where gateways leave that to workers;
            0: none are then.
        claims: Whether runs are taken that others started or left.
        learned: Told of each run that has ended here; None: nobody is.
    """
    is_local = config.execution_backend == "local"
    return Runs(
        RunMeans(
            home=config.home,
            catalogue=lambda: current.snapshot.catalogue,
            upstream=upstream,
            sealer=sealing.load_or_create(config.home, name=sealing.PAYLOADS),
            standing=callers.still,
            learned=learned,
            defer=None if is_local else _defer(),
            lease_s=config.run_lease_s,
            tasks_at_once=config.tasks_at_once,
            tasks_per_server=config.tasks_per_server,
            runs_at_once=works or RUNS_AT_ONCE,
            approval_expiry_s=config.approval_expiry_s,
            payload_days=config.payload_days,
            run_days=config.run_days,
            executes=is_local or works > 0,
            claims=claims,
            claims_new=is_local,
        )
    )


def _defer() -> Callable[[UUID], None]:
    from execution.store import jobs  # noqa: PLC0415 - heavy, and needed for the queue alone

    return jobs.defer
