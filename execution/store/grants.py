"""Stored grants for speculation, and the switch of all speculation."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from execution.models import SpeculationControl, SpeculationGrant
from execution.speculation.rules import GrantedDefinition, SpeculationGrants

_CONCERNED_TEAM: Final = Coalesce("team", "tool__server__team")


@dataclass(frozen=True, kw_only=True)
class RevokedGrant:
    """A grant that was revoked.

    Attributes:
        tool: Canonical id.
        definition_hash: SHA-256 of the definition that it was for.
    """

    tool: str
    definition_hash: str


def load_grants() -> SpeculationGrants:
    """Load all grants that are not revoked; one query."""
    rows = SpeculationGrant.objects.filter(revoked_at__isnull=True).order_by("pk")
    return SpeculationGrants.from_grants(
        GrantedDefinition(
            tool=row.tool_id,
            definition_hash=row.definition_hash,
            launch_hash=row.launch_hash,
            is_closed_world=row.is_closed_world,
            team=row.team_id,
        )
        for row in rows
    )


def add_grants(grants: Iterable[GrantedDefinition], *, user: str, note: str, at: datetime) -> None:
    """Store grants; each replaces the one that its tool and team have."""
    wanted = list(grants)
    with transaction.atomic():
        for grant in wanted:
            _revoke(
                SpeculationGrant.objects.filter(tool=grant.tool, team=grant.team),
                user=user,
                at=at,
            )
        SpeculationGrant.objects.bulk_create(
            SpeculationGrant(
                tool_id=grant.tool,
                definition_hash=grant.definition_hash,
                launch_hash=grant.launch_hash,
                is_closed_world=grant.is_closed_world,
                team_id=grant.team,
                granted_by=user,
                granted_at=at,
                note=note,
            )
            for grant in wanted
        )


def revoke_grants(pks: Collection[int], *, user: str, at: datetime) -> tuple[RevokedGrant, ...]:
    """Revoke grants that are in force; their rows are kept."""
    with transaction.atomic():
        rows = SpeculationGrant.objects.filter(pk__in=pks, revoked_at__isnull=True)
        revoked = tuple(
            RevokedGrant(tool=str(row.tool), definition_hash=row.definition_hash)
            for row in rows.select_related("tool__server").order_by("pk")
        )
        _revoke(rows, user=user, at=at)
    return revoked


def load_teams(pks: Collection[int]) -> set[int | None]:
    """Return the teams that grants in force concern; None: all teams."""
    return set(select_grants().filter(pk__in=pks).values_list(_CONCERNED_TEAM, flat=True))


def _revoke(rows: QuerySet[SpeculationGrant], *, user: str, at: datetime) -> None:
    rows.filter(revoked_at__isnull=True).update(revoked_at=at, revoked_by=user)


def select_grants() -> QuerySet[SpeculationGrant]:
    """Return the grants in force, with their tools and the `concerned_team`; None: all teams.

    A grant for everybody of a team's own tool concerns that team only.
    """
    rows = SpeculationGrant.objects.filter(revoked_at__isnull=True)
    rows = rows.annotate(concerned_team=_CONCERNED_TEAM)
    return rows.select_related("tool__server", "team")


def is_speculation_on() -> bool:
    """Whether the switch in the database is on; without its row it is off."""
    return SpeculationControl.objects.filter(is_on=True).exists()


def switch_speculation(*, is_on: bool, user: str, at: datetime) -> bool:
    """Turn speculation on or off; return whether that changed anything."""
    with transaction.atomic():
        row, _ = SpeculationControl.objects.select_for_update().get_or_create(
            pk=1, defaults={"is_on": False}
        )
        if row.is_on == is_on:
            return False
        row.is_on, row.changed_by, row.changed_at = is_on, user, at
        row.save(update_fields=["is_on", "changed_by", "changed_at"])
    return True
