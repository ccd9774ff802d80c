"""Stored limits of calls made ahead, and counts of results that were compared; blocking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet

from execution.models import SpeculationAgreement, SpeculationBudget
from execution.speculation.agreements import (
    KEPT_AGES,
    AgreementCounts,
    AgreementKey,
    ComparedResult,
)
from execution.speculation.limits import ServerLimits
from gateway_project.foundation import notify

# A tool or team may have been deleted since.
_ADD = f"""
INSERT INTO execution_speculationagreement AS known
    (tool_id, team_id, definition_hash, launch_hash, agreed, disagreed, ages_s, compared_at,
     reset_by)
SELECT %(tool)s, %(team)s, %(definition)s, %(launch)s, %(agreed)s, %(disagreed)s, %(ages)s,
       %(at)s, ''
WHERE EXISTS (SELECT FROM tools_tool WHERE id = %(tool)s)
  AND (%(team)s::bigint IS NULL OR EXISTS (SELECT FROM tools_team WHERE id = %(team)s))
ON CONFLICT (tool_id, team_id, definition_hash, launch_hash) DO UPDATE SET
    agreed = known.agreed + excluded.agreed,
    disagreed = known.disagreed + excluded.disagreed,
    ages_s = ARRAY(
        SELECT age FROM unnest(known.ages_s || excluded.ages_s) AS age
        ORDER BY age DESC LIMIT {KEPT_AGES}),
    compared_at = excluded.compared_at
"""


@dataclass(frozen=True, kw_only=True)
class ResetAgreement:
    """Comparisons that were restarted.

    Attributes:
        tool: Canonical id.
        agreed: Results that agreed before.
        disagreed: Results that did not.
    """

    tool: str
    agreed: int
    disagreed: int


def load_agreements() -> dict[AgreementKey, AgreementCounts]:
    """Load all counts; one query."""
    rows = SpeculationAgreement.objects.values_list(
        "tool_id", "definition_hash", "launch_hash", "team_id", "agreed", "disagreed", "ages_s"
    )
    return {
        AgreementKey(tool, definition, launch, team): AgreementCounts(
            agreed, disagreed, tuple(ages)
        )
        for tool, definition, launch, team, agreed, disagreed, ages in rows
    }


def add_compared(compared: Iterable[ComparedResult], *, at: datetime) -> None:
    """Add compared results, and notify all processes."""
    with transaction.atomic(), connection.cursor() as cursor:
        for one in compared:
            cursor.execute(
                _ADD,
                {
                    "tool": one.key.tool,
                    "team": one.key.team,
                    "definition": one.key.definition_hash,
                    "launch": one.key.launch_hash,
                    "agreed": int(one.agreed),
                    "disagreed": int(not one.agreed),
                    "ages": [one.age_s] if one.agreed else [],
                    "at": at,
                },
            )
        notify.send_notification(notify.SPECULATION, "")


def select_agreements() -> QuerySet[SpeculationAgreement]:
    """Return how results made ahead compared with those of real calls, by tool and team."""
    return SpeculationAgreement.objects.select_related("tool__server", "team")


def reset_agreements(pks: Iterable[int], *, user: str, at: datetime) -> tuple[ResetAgreement, ...]:
    """Restart the comparison for some tools, and notify all processes."""
    with transaction.atomic():
        rows = SpeculationAgreement.objects.select_for_update(of=("self",)).filter(pk__in=pks)
        reset = tuple(
            ResetAgreement(tool=str(row.tool), agreed=row.agreed, disagreed=row.disagreed)
            for row in rows.select_related("tool__server").order_by("pk")
        )
        SpeculationAgreement.objects.filter(pk__in=pks).update(
            agreed=0, disagreed=0, ages_s=[], reset_by=user, reset_at=at
        )
        notify.send_notification(notify.SPECULATION, "")
    return reset


def load_limits() -> dict[str, ServerLimits]:
    """Load the limits that admins have set, by name of the server."""
    rows = SpeculationBudget.objects.values_list(
        "server__name", "waste", "calls_per_minute", "dollars_per_day"
    )
    return {
        server: ServerLimits(waste=waste, calls_per_minute=calls, dollars_per_day=dollars)
        for server, waste, calls, dollars in rows
    }
