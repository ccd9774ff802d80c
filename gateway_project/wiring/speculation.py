"""Builds what makes calls ahead in a process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from execution.speculation.interface import OnEarlyCallEnded
from execution.speculation.speculator import Speculator, SpeculatorDependencies
from execution.speculation_switch import SpeculationSwitch
from execution.store import grants
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.task_group import TaskGroup

if TYPE_CHECKING:
    from execution.speculation.speculator import Agreements, Allowance
    from execution.speculation_rules import AdmissibilityRules
    from tools.pinned_upstream import PinnedUpstream


@dataclass(frozen=True, kw_only=True)
class ProcessSpeculation:
    """What makes calls ahead, and the tasks that it needs.

    Attributes:
        speculator: Makes calls ahead.
        switch: Stops it.
    """

    speculator: Speculator
    switch: SpeculationSwitch

    async def run(self) -> None:
        """Confirm the switch and remove expired results until cancelled."""
        async with TaskGroup() as group:
            group.create_task(self.switch.run(), name="speculation switch")
            group.create_task(self.speculator.run(), name="calls made ahead")


def make_speculation(  # noqa: PLR0913 - its collaborators
    config: Config,
    *,
    rules: Callable[[], AdmissibilityRules],
    upstream: PinnedUpstream,
    allowance: Allowance,
    agreements: Agreements,
    describe_trouble: Callable[[str], str],
    on_ended: OnEarlyCallEnded,
) -> ProcessSpeculation:
    """Return what makes calls ahead in this process.

    Args:
        config: Of the installation.
        rules: Returns the current catalogue and grants.
        upstream: The pool of upstream servers.
        allowance: Budgets.
        agreements: What earned being served.
        describe_trouble: Why a server is unreliable right now, by name; empty if it is healthy.
        on_ended: Called with what became of each call made ahead.
    """
    switch = SpeculationSwitch(
        lambda: run_in_database_thread(grants.is_speculation_on),
        is_enabled=config.speculation,
        clock=time.monotonic,
    )
    speculator = Speculator(
        SpeculatorDependencies(
            rules=rules,
            upstream=upstream,
            is_on=lambda: switch.is_on(time.monotonic()),
            confirm=switch.confirm,
            allowance=allowance,
            agreements=agreements,
            describe_trouble=describe_trouble,
            on_ended=on_ended,
            places=(config.tasks_per_server, config.tasks_at_once),
        )
    )
    return ProcessSpeculation(speculator=speculator, switch=switch)
