"""A grant from the first listing of a tool to its change, as the product stores both."""

from datetime import timedelta
from decimal import Decimal

import pytest

from execution.speculation.admissibility import judge_call
from execution.store import grants as grant_store
from gateway_project.access.roles import NotPermitted
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.approve_tools import approve_tools
from gateway_project.use_cases.curate_speculation import (
    grant_speculation,
    list_proposals,
    load_rules,
    revoke_speculation,
)
from tests.execution.speculation_setup import planned_call
from tests.factories import SEEN_AT, ServerFactory, TeamFactory
from tools.definition import Definition
from tools.models import Server, Tool
from tools.store import catalogue

pytestmark = pytest.mark.django_db

ANN = Caller(user="ann", team=None, person=None, scopes=frozenset({"*"}), kind="console")
READ = Definition(name="read_note", description="Returns a note.")


def listing(definition, *, days=0):
    catalogue.record_listing(
        "notes", [definition], at=SEEN_AT + timedelta(days=days), approve_new=True
    )


@pytest.fixture
def tool():
    ServerFactory(name="notes", trusted=True, price_per_call=Decimal(0))
    listing(READ)
    return Tool.objects.select_related("definition").get()


def grant(tool):
    tool.refresh_from_db()
    return grant_speculation(ANN, {tool.pk: tool.definition.hash})


def codes():
    call = planned_call(tool="notes:read_note", arguments={})
    verdict = judge_call(call, caller=ANN, rules=load_rules())
    return [reason.code.value for reason in verdict]


def test_a_granted_tool_is_admissible_until_the_grant_is_revoked(tool):
    assert codes() == ["not_granted"]
    assert grant(tool).granted == ("notes:read_note",)
    assert codes() == []
    (granted,) = load_rules().grants.by_tool[tool.pk]
    assert granted.definition_hash == READ.hash
    assert revoke_speculation(ANN, [tool.speculation_grants.get().pk]) == ("notes:read_note",)
    assert codes() == ["not_granted"]
    assert grant_store.load_grants().by_tool == {}


@pytest.mark.parametrize(
    "changed",
    [
        Definition(name="read_note", description="Returns a note!"),
        Definition(name="read_note", description="Returns a note.", title="R"),
        Definition(
            name="read_note", description="Returns a note.", annotations={"idempotentHint": True}
        ),
        Definition(
            name="read_note", description="Returns a note.", input_schema={"type": "object"}
        ),
    ],
)
def test_a_changed_definition_is_refused_until_it_is_approved_and_granted_again(tool, changed):
    grant(tool)
    listing(changed, days=1)
    assert codes() == ["unavailable"]
    approve_tools(ANN, [tool], user=None)
    assert codes() == ["grant_outdated"]
    assert grant(tool).granted == ("notes:read_note",)
    assert codes() == []


def test_a_definition_that_changes_back_is_the_granted_one(tool):
    grant(tool)
    listing(Definition(name="read_note", description="Obey."), days=1)
    listing(READ, days=2)
    assert codes() == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"command": "other"}, "grant_outdated"),
        ({"args": ["--write"]}, "grant_outdated"),
        ({"cwd": "/elsewhere"}, "grant_outdated"),
        ({"trusted": False}, "server_not_trusted"),
        ({"price_per_call": None}, "unknown_cost"),
        ({"enabled": False}, "unavailable"),
    ],
)
def test_a_change_of_the_server_ends_what_a_grant_permits(tool, change, code):
    grant(tool)
    Server.objects.update(**change)
    assert code in codes()


def test_what_a_trusted_server_declares_needs_no_grant_until_its_command_changes(tool):
    declared = Definition(name="read_note", annotations={"readOnlyHint": True})
    listing(declared, days=1)
    approve_tools(ANN, [tool], user=None)
    assert codes() == []
    Server.objects.update(command="other")
    assert codes() == ["server_changed"]
    assert grant(tool).granted == ("notes:read_note",)
    assert codes() == []


def test_proposals_begin_with_the_tools_to_grant(tool):
    ServerFactory(name="wild")
    catalogue.record_listing(
        "notes",
        [READ, Definition(name="aggregate"), Definition(name="abolish", title="Delete")],
        at=SEEN_AT,
        approve_new=True,
    )
    ordered = [item.tool.tool for item in list_proposals(load_rules())]
    assert ordered == ["notes:read_note", "notes:aggregate", "notes:abolish"]
    assert list_proposals(load_rules(), server="wild") == []


def member_of(team):
    return Caller(
        user="bob", team=team.pk, person=None, scopes=frozenset({"administer"}), kind="console"
    )


def test_an_admin_of_one_team_decides_no_grant_for_everybody(tool):
    bob = member_of(TeamFactory())
    grant(tool)
    (row,) = grant_store.select_grants()
    with pytest.raises(NotPermitted):
        revoke_speculation(bob, [row.pk])
    with pytest.raises(NotPermitted):
        grant_speculation(bob, {tool.pk: tool.definition.hash}, is_closed_world=True)
    assert not grant_store.select_grants().get().is_closed_world


def test_an_admin_of_one_team_decides_the_grants_of_that_team(tool):
    team = TeamFactory()
    grant_speculation(member_of(team), {tool.pk: tool.definition.hash}, team=team.pk)
    (row,) = grant_store.select_grants()
    with pytest.raises(NotPermitted):
        revoke_speculation(member_of(TeamFactory()), [row.pk])
    assert revoke_speculation(member_of(team), [row.pk]) == ("notes:read_note",)


def test_a_grant_for_everybody_of_a_teams_own_tool_is_that_teams(tool):
    team = TeamFactory()
    Server.objects.update(team=team)
    grant(tool)
    (row,) = grant_store.select_grants()
    assert revoke_speculation(member_of(team), [row.pk]) == ("notes:read_note",)
