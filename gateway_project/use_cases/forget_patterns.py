"""Delete workflow patterns at a person's request, with audit entries."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph.store import patterns


def forget_patterns(caller: Caller, pks: Collection[int]) -> int:
    """Delete patterns with their runs and everything learned from them; return how many."""
    with transaction.atomic():
        deleted = patterns.delete_patterns(pks)
        for name in deleted:
            audit.record_audit(caller, "pattern.forgotten", name)
    return len(deleted)
