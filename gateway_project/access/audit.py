"""The audit trail: one entry for each change, written in the change's own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry

# Jumps from one action to the next in the index on them.
_ACTIONS = """
WITH RECURSIVE listed AS (
    (SELECT action FROM gateway_project_auditentry ORDER BY action LIMIT 1)
    UNION ALL
    SELECT (SELECT action FROM gateway_project_auditentry
            WHERE action > listed.action ORDER BY action LIMIT 1)
    FROM listed WHERE listed.action IS NOT NULL)
SELECT action FROM listed WHERE action IS NOT NULL ORDER BY action
"""


def record_audit(
    caller: Caller, action: str, subject: str, *, detail: Mapping[str, Any] | None = None
) -> None:
    """Add an entry to the audit trail.

    Args:
        caller: The actor.
        action: In the past tense, such as `server.registered`.
        subject: Canonical name of the changed object.
        detail: Names of changed fields and the like, never secrets.
    """
    user = get_user_model().objects.filter(username=caller.user).first()
    AuditEntry.objects.create(
        at=timezone.now(),
        user=user,
        actor=caller.user,
        kind=caller.kind,
        team_id=caller.team,
        action=action,
        subject=subject,
        request_id=telemetry.current_request_id(),
        detail=dict(detail or {}),
    )


def select_entries(
    *, since: datetime | None = None, until: datetime | None = None, **values: str
) -> QuerySet[AuditEntry]:
    """Return entries of the audit trail.

    Args:
        since: Only those from this time on; None: all.
        until: Only those before this time; None: all.
        **values: Exact values of `action`, `actor`, `kind` or `subject`.
    """
    rows = AuditEntry.objects.select_related("team").filter(**values)
    if since is not None:
        rows = rows.filter(at__gte=since)
    return rows if until is None else rows.filter(at__lt=until)


def search_subjects(rows: QuerySet[AuditEntry], part: str) -> QuerySet[AuditEntry]:
    """Return those entries whose subject contains a text, in capitals or not."""
    return rows.filter(subject__icontains=part)


def list_actions() -> list[str]:
    """Return the actions that occur, by name; by the index, not by reading every entry."""
    with connection.cursor() as cursor:
        cursor.execute(_ACTIONS)
        return [action for (action,) in cursor.fetchall()]
