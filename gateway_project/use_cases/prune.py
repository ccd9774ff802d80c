"""Delete everything that is no longer kept, as processes do by themselves once an hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from execution.store import expiry
from execution.store.expiry import ExpiryCounts
from gateway_project.access import retention as access_retention
from gateway_project.access.retention import AccessCounts
from gateway_project.foundation.config import Config
from gateway_project.webhooks import store
from gateway_project.webhooks.store import DeliveryCounts
from learning import memory_keeper, outcomes
from learning.outcomes import OldOutcomes
from learning.store import retention
from learning.store.retention import RetentionCounts


@dataclass(frozen=True, kw_only=True)
class PruneReport:
    """Counts of what was, or would be, deleted.

    Attributes:
        runs: Of runs and their payloads.
        memory: Of the events of the memory.
        outcomes: Of outcomes of suggestions, and of totals.
        access: Of answered requests and OAuth clients.
        webhooks: Of events that webhooks were told of.
    """

    runs: ExpiryCounts
    memory: RetentionCounts
    outcomes: OldOutcomes
    access: AccessCounts
    webhooks: DeliveryCounts


def prune(config: Config, *, at: datetime, dry_run: bool) -> PruneReport:
    """Delete, or only count, what the settings no longer keep."""
    expire_runs = expiry.count_expired if dry_run else expiry.delete_expired
    expire_outcomes = outcomes.count_old if dry_run else outcomes.delete_old
    expire_events = retention.count_expired if dry_run else retention.delete_expired
    return PruneReport(
        runs=expire_runs(payload_days=config.payload_days, run_days=config.run_days),
        memory=expire_events(memory_keeper.load_limits(config)),
        outcomes=expire_outcomes(at=at),
        access=access_retention.count_old() if dry_run else access_retention.delete_old(),
        webhooks=store.count_old(at=at) if dry_run else store.delete_old(at=at),
    )
