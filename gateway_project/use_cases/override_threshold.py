"""Override thresholds of speculation at an administrator's request, and name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import UnsealingFailed
from learning.memory.context import Context, describe_context, hash_context
from learning.store import thresholds


def name_threshold(row: Any) -> str:
    """Return what a threshold applies to, by its name where that is known."""
    if not row.context_sealed or row.domain_hash is None:
        return str(row.scope)
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    try:
        context = Context(**sealer.unseal(row.context_sealed))
    except UnsealingFailed:
        return str(row.scope)
    if row.context_hash is None:
        return f"domain {context.domain or 'unknown'}"
    return f"{context.workflow_type or 'any work'} in {context.domain}, {context.complexity}"


def preset_threshold(
    caller: Caller, stated: Mapping[str, str], *, override: float, at: datetime
) -> int:
    """Set the threshold of a kind of work of the caller's team; return its primary key.

    It need not have been asked for yet.

    Args:
        caller: The administrator.
        stated: The kind of work: `domain`; without `workflow_type` and `complexity`, all of it.
        override: Confidence from which to speculate.
        at: Current time.
    """
    home = settings.FOREGATE.home
    context = describe_context(
        domain=stated["domain"],
        workflow_type=stated.get("workflow_type", ""),
        complexity=stated.get("complexity", ""),
    )
    with transaction.atomic():
        pk = thresholds.preset_threshold(
            caller.owner,
            hash_context(context, sealing.load_or_create_sealer(home).digest),
            is_domain=not (stated.get("workflow_type") or stated.get("complexity")),
            context_sealed=sealing.load_or_create_sealer(home, name=sealing.PAYLOADS).seal(
                asdict(context)
            ),
            at=at,
        )
        override_threshold(caller, pk, override, subject=f"threshold {pk}", at=at)
    return pk


def override_threshold(
    caller: Caller, pk: int, override: float | None, *, subject: str, at: datetime
) -> None:
    """Override a threshold, or remove its override.

    Args:
        caller: The administrator.
        pk: Primary key of the threshold.
        override: Confidence from which to speculate; None: as computed.
        subject: Name of the threshold in the audit trail.
        at: Current time.
    """
    with transaction.atomic():
        thresholds.set_override(pk, override, user=caller.user, at=at)
        audit.record_audit(caller, "threshold.overridden", subject, detail={"override": override})
