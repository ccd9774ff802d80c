"""Decide what may be called ahead: the switch, grants, budgets and compared results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from execution.speculation.grant_proposals import (
    GrantProposal,
    find_grant_obstacles,
    propose_grant,
)
from execution.speculation.rules import AdmissibilityRules, GrantedDefinition
from execution.store import agreements, budgets, grants
from execution.store import grants as grant_store
from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER, require_decision, require_scope
from gateway_project.access.visible_rows import limit_to_team
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.refusals import NoSuchRow
from tools.catalogue import Catalogue
from tools.store import catalogue as catalogue_store


def switch_speculation(caller: Caller, *, is_on: bool) -> bool:
    """Turn all speculation on or off; return whether that changed anything."""
    with transaction.atomic():
        is_changed = grants.switch_speculation(is_on=is_on, user=caller.user, at=timezone.now())
        if is_changed:
            audit.record_audit(
                caller, f"speculation.turned_{'on' if is_on else 'off'}", "all speculation"
            )
    return is_changed


RowT = TypeVar("RowT", bound=Model)
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


def select_visible(caller: Caller, rows: QuerySet[RowT]) -> QuerySet[RowT]:
    """Return the rows of the caller's team about tools that they may know of."""
    return limit_to_team(limit_to_team(rows, caller), caller, field="tool__server__team")


def require_visible(caller: Caller, rows: QuerySet[Any], pk: int, what: str) -> None:
    """Check that the caller may know of a row.

    Raises:
        NoSuchRow: If not; the message says what.
    """
    if not select_visible(caller, rows).filter(pk=pk).exists():
        raise NoSuchRow(what)


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


def save_budget(caller: Caller, server: str, values: Mapping[str, Any]) -> None:
    """Set the budget of a server.

    Args:
        caller: The actor.
        server: Its name.
        values: `waste`, `calls_per_minute` and `dollars_per_day`.

    Raises:
        NotPermitted: If the caller lacks the scope, or the server is not their team's and they
            are no superuser.
        LookupError: If there is no such server.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    require_scope(caller, ADMINISTER)
    with transaction.atomic():
        require_decision(caller, budgets.load_team(server))
        is_new = budgets.save_budget(server, values)
        action = f"speculation_budget.{'registered' if is_new else 'changed'}"
        audit.record_audit(
            caller, action, f"budget of {server}", detail={"changed": sorted(values)}
        )


def delete_budget(caller: Caller, server: str) -> None:
    """Let the defaults apply to a server again.

    Raises:
        NotPermitted: As of `save_budget`.
    """
    require_scope(caller, ADMINISTER)
    with transaction.atomic():
        require_decision(caller, budgets.load_team(server))
        if budgets.delete_budget(server):
            audit.record_audit(caller, "speculation_budget.deleted", f"budget of {server}")


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
