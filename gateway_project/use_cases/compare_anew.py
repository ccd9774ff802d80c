"""Let results of calls made ahead be compared anew, with audit entries."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from execution.store import agreements
from gateway_project.access import audit
from gateway_project.foundation.caller import Caller


def compare_anew(caller: Caller, pks: Collection[int]) -> int:
    """Forget how results turned out; return for how many tools.

    Args:
        caller: The actor.
        pks: Primary keys of the comparisons.
    """
    with transaction.atomic():
        reset = agreements.reset_agreements(pks, user=caller.user, at=timezone.now())
        for one in reset:
            detail = {"agreed": one.agreed, "disagreed": one.disagreed}
            audit.record_audit(caller, "speculation.compared_anew", one.tool, detail=detail)
    return len(reset)
