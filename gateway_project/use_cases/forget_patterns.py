"""Forget what runs have shown, at a person's word; it is written down."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph.store import patterns


def forget_patterns(caller: Caller, pks: Collection[int]) -> int:
    """Delete patterns with their runs and what was learned from them; return how many."""
    with transaction.atomic():
        found = patterns.forget(pks)
        for named in found:
            audit.record(caller, "pattern.forgotten", named)
    return len(found)
