"""Delete everything that is no longer kept, as processes do by themselves once an hour."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from execution.store import expiry
from gateway_project.access import retention as access_retention
from gateway_project.foundation.config import Config
from gateway_project.webhooks import store
from learning import outcomes
from learning.store import retention


def prune(config: Config, *, at: datetime, dry_run: bool) -> dict[str, dict[str, int]]:
    """Delete, or only count, what the settings no longer keep; return counts by part and kind."""
    expire_runs = expiry.count_expired if dry_run else expiry.delete_expired
    expire_outcomes = outcomes.count_old if dry_run else outcomes.delete_old
    expire_events = retention.count_expired if dry_run else retention.delete_expired
    expire_access = access_retention.count_old if dry_run else access_retention.delete_old
    expire_deliveries = store.count_old if dry_run else store.delete_old
    runs = expire_runs(payload_days=config.payload_days, run_days=config.run_days)
    return {
        "runs": asdict(runs),
        "memory": asdict(expire_events(config)),
        "outcomes": asdict(expire_outcomes(at=at)),
        "access": asdict(expire_access()),
        "webhooks": {"deliveries": expire_deliveries(at=at)},
    }
