"""Builds what makes calls ahead in a process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from execution.speculation.agreements import Agreements
from execution.speculation.allowance import Allowance
from execution.speculation.calls import OnSpeculationEnded
from execution.speculation.dependencies import SpeculatorDependencies
from execution.speculation.speculator import Speculator
from execution.speculation.switch import SpeculationSwitch
from execution.store import agreements as agreement_store
from execution.store import budgets, grants
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.task_group import TaskGroup

if TYPE_CHECKING:
    from execution.speculation.agreements import ComparedResult
    from execution.speculation.rules import AdmissibilityRules
    from gateway_project.wiring.follow import CurrentSnapshot
    from tools.pinned_upstream import PinnedUpstream


@dataclass(frozen=True, kw_only=True)
class ProcessSpeculation:
    """What makes calls ahead, and the tasks that it needs."""

    speculator: Speculator
    switch: SpeculationSwitch
    allowance: Allowance
    agreements: Agreements

    def handle_notification(self, event: notify.Notification | None) -> None:
        """Read budgets and agreements again if another process changed them; None: a gap."""
        if event is None or event.channel == notify.SPECULATION:
            self.allowance.invalidate()
            self.agreements.invalidate()

    async def run(self) -> None:
        """Keep the switch, budgets and agreements current until cancelled."""
        async with TaskGroup() as group:
            group.create_task(self.switch.run(), name="speculation switch")
            group.create_task(self.allowance.run(), name="speculation budgets")
            group.create_task(self.agreements.run(), name="speculation agreements")
            group.create_task(self.speculator.run(), name="calls made ahead")


def make_speculation(
    config: Config,
    current: CurrentSnapshot,
    *,
    upstream: PinnedUpstream,
    describe_trouble: Callable[[Caller, str], str],
    on_ended: OnSpeculationEnded,
) -> ProcessSpeculation:
    """Return what makes calls ahead in this process.

    Args:
        config: Of the installation.
        current: Catalogue and grants; what outdates results is reported to it.
        upstream: The pool of upstream servers.
        describe_trouble: What a caller may know of why a server is unreliable now; empty if it is
            healthy.
        on_ended: Called with what became of each call made ahead.
    """

    def get_rules() -> AdmissibilityRules:
        return current.snapshot.rules

    switch = SpeculationSwitch(
        partial(run_in_database_thread, grants.is_speculation_on),
        is_enabled=config.speculation,
        clock=time.monotonic,
    )
    allowance = Allowance(
        catalogue=lambda: current.snapshot.catalogue,
        load_limits=partial(run_in_database_thread, agreement_store.load_limits),
        reserve_money=_reserve_money,
        settle_money=_settle_money,
    )
    agreements = Agreements(
        load=partial(run_in_database_thread, agreement_store.load_agreements),
        store=_store_compared,
    )
    speculator = Speculator(
        SpeculatorDependencies(
            rules=get_rules,
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
    current.speculation = speculator
    return ProcessSpeculation(
        speculator=speculator, switch=switch, allowance=allowance, agreements=agreements
    )


async def _reserve_money(
    reservation: UUID, server: str, team: int | None, dollars: Decimal
) -> bool:
    return await run_in_database_thread(
        budgets.reserve_money,
        reservation,
        server=server,
        team=team,
        dollars=dollars,
        at=datetime.now(UTC),
    )


async def _settle_money(reservation: UUID, made: bool) -> None:
    await run_in_database_thread(
        budgets.settle_money, reservation, made=made, at=datetime.now(UTC)
    )


async def _store_compared(compared: Sequence[ComparedResult]) -> None:
    await run_in_database_thread(agreement_store.add_compared, compared, at=datetime.now(UTC))
