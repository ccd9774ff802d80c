"""Turn all speculation on or off, with an audit entry."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from execution.store import grants
from gateway_project.access import audit
from gateway_project.foundation.caller import Caller


def switch_speculation(caller: Caller, *, is_on: bool) -> bool:
    """Turn all speculation on or off; return whether that changed anything."""
    with transaction.atomic():
        is_changed = grants.switch_speculation(is_on=is_on, user=caller.user, at=timezone.now())
        if is_changed:
            audit.record_audit(
                caller, f"speculation.turned_{'on' if is_on else 'off'}", "all speculation"
            )
    return is_changed
