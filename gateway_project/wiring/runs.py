"""Builds the runs facade of a gateway or worker process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from execution.call import OnCallEnded, ignore_ended_call
from execution.run_dependencies import DEFAULT_RUNS_AT_ONCE, RunDependencies
from execution.runs import Runs
from execution.speculation.calls import NO_SPECULATION, Speculation
from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from gateway_project.wiring.follow import CurrentSnapshot
    from tools.pinned_upstream import PinnedUpstream


def make_runs(  # noqa: PLR0913 - its collaborators, and two callbacks
    current: CurrentSnapshot,
    upstream: PinnedUpstream,
    *,
    config: Config,
    works: int,
    claims: bool = True,
    on_call_ended: OnCallEnded = ignore_ended_call,
    on_run_ended: Callable[[UUID], Awaitable[None]] | None = None,
    speculation: Speculation = NO_SPECULATION,
) -> Runs:
    """Return the runs facade of this process.

    Args:
        current: The current snapshot.
        upstream: The pool of upstream servers.
        config: Of the installation.
        works: Runs executed concurrently here even if gateways leave runs to workers; 0: none.
        claims: Whether to claim runs that other processes started or left.
        on_call_ended: Called with each call of a task that ended here.
        on_run_ended: Called with each run that ended here.
        speculation: Calls made ahead, which may answer calls of tasks.
    """
    is_local = config.execution_backend == "local"
    return Runs(
        RunDependencies(
            home=config.home,
            catalogue=lambda: current.snapshot.catalogue,
            upstream=upstream,
            sealer=sealing.load_or_create_sealer(config.home, name=sealing.PAYLOADS),
            refresh_rights=callers.refresh_rights,
            on_call_ended=on_call_ended,
            on_run_ended=on_run_ended,
            enqueue_run=None if is_local else _load_enqueue(),
            lease_s=config.run_lease_s,
            tasks_at_once=config.tasks_at_once,
            tasks_per_server=config.tasks_per_server,
            runs_at_once=works or DEFAULT_RUNS_AT_ONCE,
            approval_expiry_s=config.approval_expiry_s,
            payload_days=config.payload_days,
            run_days=config.run_days,
            is_executor=is_local or works > 0,
            can_claim_runs=claims,
            can_claim_new_runs=is_local,
            runs_teach=config.memory,
            speculation=speculation,
        )
    )


def _load_enqueue() -> Callable[[UUID], None]:
    from execution.store import jobs

    return jobs.enqueue_run
