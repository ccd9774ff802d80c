from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from execution.models import SpeculationControl, SpeculationGrant
from execution.speculation.rules import GrantedDefinition
from execution.store import grants
from tests.factories import SEEN_AT, TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

HASH = "a" * 64


def granted(tool, **values):
    defaults = {"definition_hash": HASH, "launch_hash": HASH}
    return GrantedDefinition(tool=tool.pk, **(defaults | values))


def add(*wanted, user="ann"):
    grants.add_grants(wanted, user=user, note="", at=SEEN_AT)


def test_without_grants_nothing_is_granted():
    assert grants.load_grants().by_tool == {}


def test_grants_are_loaded_as_they_were_added_and_without_the_revoked_ones():
    tool, other, team = ToolFactory(), ToolFactory(), TeamFactory()
    wanted = (granted(tool), granted(tool, team=team.pk, is_closed_world=True), granted(other))
    add(*wanted)
    pk = SpeculationGrant.objects.get(tool=other).pk
    (revoked,) = grants.revoke_grants([pk], user="bob", at=SEEN_AT)
    assert (revoked.tool, revoked.definition_hash) == (str(other), HASH)
    assert grants.revoke_grants([pk], user="eve", at=SEEN_AT) == ()
    assert grants.load_grants().by_tool == {tool.pk: wanted[:2]}
    assert SpeculationGrant.objects.get(pk=pk).revoked_by == "bob"


@pytest.mark.parametrize(
    "values",
    [
        {"definition_hash": "short"},
        {"launch_hash": "X" * 64},
        {"granted_by": ""},
        {"revoked_at": SEEN_AT},
        {"revoked_by": "bob"},
        {"revoked_at": SEEN_AT - timedelta(seconds=1), "revoked_by": "bob"},
    ],
)
def test_the_database_refuses_grants_that_say_nothing_certain(values):
    defaults = {
        "definition_hash": HASH, "launch_hash": HASH, "granted_by": "ann", "granted_at": SEEN_AT
    }  # fmt: skip
    with pytest.raises(IntegrityError), transaction.atomic():
        SpeculationGrant.objects.create(tool=ToolFactory(), **(defaults | values))


def test_a_tool_has_one_grant_in_force_for_a_team_and_one_for_everybody():
    tool = ToolFactory()
    add(granted(tool))
    row = SpeculationGrant.objects.get()
    row.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()


def test_the_switch_is_on_at_first_and_off_without_its_row():
    assert grants.is_speculation_on()
    SpeculationControl.objects.all().delete()
    assert not grants.is_speculation_on()
    assert not grants.switch_speculation(is_on=False, user="ann", at=SEEN_AT)
    assert grants.switch_speculation(is_on=True, user="ann", at=SEEN_AT)
    assert grants.is_speculation_on()


def test_the_switch_records_who_turned_it_and_only_changes():
    assert grants.switch_speculation(is_on=False, user="ann", at=SEEN_AT)
    assert not grants.switch_speculation(is_on=False, user="bob", at=SEEN_AT)
    row = SpeculationControl.objects.get()
    assert (row.is_on, row.changed_by, row.changed_at) == (False, "ann", SEEN_AT)
