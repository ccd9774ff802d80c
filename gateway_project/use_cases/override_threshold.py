"""Override a threshold of speculation at an administrator's request, with an audit entry."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from learning.store import thresholds


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
