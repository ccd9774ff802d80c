"""Grant tools for speculation, and revoke such grants, with audit entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from execution.grant_proposals import GrantProposal, find_grant_obstacles, propose_grant
from execution.speculation_rules import AdmissibilityRules, GrantedDefinition
from execution.store import grants as grant_store
from gateway_project.access import audit
from gateway_project.access.roles import require_decision
from gateway_project.foundation.caller import Caller
from tools.catalogue import Catalogue
from tools.store import catalogue as catalogue_store

_PROPOSALS: Final = "grant_proposals"
"""Key of the proposals among what is derived from a catalogue."""


@dataclass(frozen=True, kw_only=True)
class GrantOutcome:
    """What was granted, as canonical ids.

    Attributes:
        granted: Tools granted now.
        changed: Tools whose definition is no longer the one that the person saw.
        refused: Why other tools cannot be granted, by tool.
    """

    granted: tuple[str, ...]
    changed: tuple[str, ...]
    refused: Mapping[str, str]


def load_rules(catalogue: Catalogue | None = None) -> AdmissibilityRules:
    """Load the grants in force, and the catalogue unless one is given."""
    return AdmissibilityRules(
        catalogue=catalogue_store.load_catalogue() if catalogue is None else catalogue,
        grants=grant_store.load_grants(),
    )


def list_proposals(rules: AdmissibilityRules, *, server: str = "") -> list[GrantProposal]:
    """Return a proposal for each tool, those to be granted first, then by id.

    They are kept with the catalogue, for as long as the grants are the same.

    Args:
        rules: Catalogue and grants.
        server: Name of the only server to consider; empty: all.
    """
    kept = rules.catalogue.derived_cache
    grants, proposals = kept.get(_PROPOSALS, (None, ()))
    if grants != rules.grants:
        proposals = sorted(
            (propose_grant(tool, rules) for tool in rules.catalogue.tools.values()),
            key=lambda item: (not item.is_proposed, not item.can_be_granted, item.tool.tool),
        )
        kept[_PROPOSALS] = (rules.grants, proposals)
    return [item for item in proposals if server in ("", item.tool.server)]


def grant_speculation(
    caller: Caller,
    shown: Mapping[int, str],
    *,
    is_closed_world: bool = False,
    team: int | None = None,
    note: str = "",
) -> GrantOutcome:
    """Grant tools for speculation, each for the definition that a person saw.

    Only tools of trusted servers can be granted, and none that a danger rules out.

    Args:
        caller: The actor.
        shown: Hash of the definition that the person saw, by primary key of the tool.
        is_closed_world: Whether the person says that the tools reach nothing beyond their servers.
        team: Primary key of the team it is for; None: everybody who sees the tool.
        note: The person's reason.

    Raises:
        NotPermitted: If a grant would concern others than the caller's team, and they are no
            superuser; nothing is granted then.
    """
    with transaction.atomic():
        rules = load_rules()
        chosen = [tool for tool in rules.catalogue.tools.values() if tool.pk in shown]
        for tool in chosen:
            require_decision(caller, tool.team if team is None else team)
        refused = {
            tool.tool: " ".join(reason.message for reason in reasons)
            for tool in chosen
            if (reasons := find_grant_obstacles(tool, rules))
        }
        same = [tool for tool in chosen if tool.definition_hash == shown[tool.pk]]
        granted = [tool for tool in same if tool.tool not in refused]
        grant_store.add_grants(
            [
                GrantedDefinition(
                    tool=tool.pk,
                    definition_hash=tool.definition_hash,
                    launch_hash=rules.catalogue.servers[tool.server].launch_hash,
                    is_closed_world=is_closed_world,
                    team=team,
                )
                for tool in granted
            ],
            user=caller.user,
            note=note,
            at=timezone.now(),
        )
        for tool in granted:
            detail = {
                "definition": tool.definition_hash,
                "closed_world": is_closed_world,
                "team": team,
            }
            audit.record_audit(caller, "speculation.granted", tool.tool, detail=detail)
    known = {tool.pk for tool in same}
    return GrantOutcome(
        granted=tuple(tool.tool for tool in granted),
        changed=tuple(tool.tool for tool in chosen if tool.pk not in known),
        refused=refused,
    )


def revoke_speculation(caller: Caller, pks: Collection[int]) -> tuple[str, ...]:
    """Revoke grants; return the ids of their tools.

    Raises:
        NotPermitted: If one concerns others than the caller's team, and they are no superuser;
            none is revoked then.
    """
    with transaction.atomic():
        for team in grant_store.load_teams(pks):
            require_decision(caller, team)
        revoked = grant_store.revoke_grants(pks, user=caller.user, at=timezone.now())
        for grant in revoked:
            detail = {"definition": grant.definition_hash}
            audit.record_audit(caller, "speculation.revoked", grant.tool, detail=detail)
    return tuple(grant.tool for grant in revoked)
