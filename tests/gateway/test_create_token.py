import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from gateway_project.access import tokens
from gateway_project.models import ApiToken, AuditEntry
from tests.factories import MembershipFactory, UserFactory
from tools.models import ToolGroup

pytestmark = pytest.mark.django_db


@pytest.fixture
def create(capsys):
    def run(*arguments):
        call_command("create_token", *arguments)
        return capsys.readouterr().out.strip()

    return run


def test_a_token_of_the_local_admin_does_what_clients_do(create):
    caller = tokens.authenticate_token(create())
    assert (caller.user, caller.team) == ("admin", None)
    assert caller.scopes == {"search", "call", "read"}


def test_a_token_acts_for_the_user_and_their_only_team(create):
    membership = MembershipFactory(user=UserFactory(username="ann"))
    caller = tokens.authenticate_token(create("--user", "ann", "--scope", "call"))
    assert (caller.user, caller.team) == ("ann", membership.team_id)
    assert caller.scopes == {"call"}


def test_one_of_several_teams_is_chosen_by_name(create):
    user = UserFactory(username="ann")
    MembershipFactory(user=user)
    chosen = MembershipFactory(user=user).team
    assert tokens.authenticate_token(create("--user", "ann")).team is None
    token = create("--user", "ann", "--team", chosen.name)
    assert tokens.authenticate_token(token).team == chosen.pk


def test_json_output_is_available(create):
    told = json.loads(create("--days", "30", "--json", "--name", "laptop"))
    row = ApiToken.objects.get()
    assert tokens.hash_token(told["token"]) == row.digest
    assert (told["user"], told["scopes"]) == ("admin", ["search", "call", "read"])
    assert told["expires_at"] == row.expires_at.isoformat()
    left = row.expires_at - timezone.now()
    assert timedelta(days=29) < left <= timedelta(days=30)


def test_it_is_written_down_without_the_token(create):
    token = create("--name", "laptop")
    entry = AuditEntry.objects.get(action="token.created")
    assert (entry.actor, entry.kind) == ("admin", "command")
    assert entry.detail == {
        "user": "admin",
        "scopes": ["search", "call", "read"],
        "team": None,
        "group": None,
    }
    assert token not in str(entry.__dict__)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--user", "nobody"), "no active user 'nobody'"),
        (("--user", "ann", "--scope", "metrics"), "ann may not do metrics"),
        (("--user", "ann", "--scope", "*"), r"ann may not do \*"),
        (("--user", "ann", "--team", "red"), "ann is in no team 'red'"),
        (("--user", "ann", "--group", "desk"), "there is no tool group 'desk'"),
        (("--days", "0"), "--days: give 1 to 36500"),
        (("--days", "99999999999"), "--days: give 1 to 36500"),
    ],
)
def test_scopes_that_cannot_be_granted_are_refused(create, arguments, words):
    UserFactory(username="ann")
    with pytest.raises(CommandError, match=words):
        create(*arguments)
    assert not ApiToken.objects.exists()


def test_a_token_is_limited_to_a_tool_group(create):
    ToolGroup.objects.create(name="desk")
    caller = tokens.authenticate_token(create("--group", "desk"))
    assert (caller.group, caller.team) == ("desk", None)
    with pytest.raises(CommandError, match="may not have metrics, which reach beyond it"):
        create("--group", "desk", "--scope", "metrics")
