import pytest
from django.contrib.auth import get_user_model

from gateway_project.access import callers
from gateway_project.access.callers import UnknownUser
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tests.factories import MembershipFactory, UserFactory
from tests.gateway.signing_in import authenticate

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("superuser", "scopes"),
    [(True, {SCOPE_ALL}), (False, {"search", "call", "read", "control", "approve"})],
)
def test_superusers_get_all_scopes_and_others_those_of_a_member(superuser, scopes):
    UserFactory(username="ann", superuser=superuser)
    caller = callers.caller_for_user("ann", kind="stdio")
    assert (caller.user, caller.kind, caller.scopes) == ("ann", "stdio", scopes)


@pytest.mark.parametrize("teams", [0, 1, 2])
def test_a_member_of_a_single_team_acts_for_it(teams):
    user = UserFactory(username="ann")
    memberships = MembershipFactory.create_batch(teams, user=user)
    MembershipFactory()
    expected = memberships[0].team.pk if teams == 1 else None
    assert callers.caller_for_user("ann", kind="console").team == expected


@pytest.mark.parametrize("name", ["nobody", "", "gone"])
def test_without_an_active_user_the_error_says_how_to_create_one(name):
    UserFactory(username="gone", is_active=False)
    with pytest.raises(UnknownUser, match="createsuperuser") as caught:
        callers.caller_for_user(name, kind="stdio")
    assert repr(name) in str(caught.value)


def asked(scopes, team=None):
    return Caller(user="ann", team=team, person=None, scopes=frozenset(scopes), kind="http")


@pytest.mark.parametrize(
    ("superuser", "had", "has"),
    [
        (True, {SCOPE_ALL}, {SCOPE_ALL}),
        (True, {"call"}, {"call"}),
        (False, {"call"}, {"call"}),
        (False, {"call", "rule_the_world"}, {"call"}),
        (False, {SCOPE_ALL}, {"search", "call", "read", "control", "approve"}),
    ],
)
def test_stored_permissions_are_reduced_to_current_ones(superuser, had, has):
    UserFactory(username="ann", superuser=superuser)
    assert callers.refresh_rights(asked(had)).scopes == has


@pytest.mark.parametrize("is_active", [True, False])
def test_a_deleted_caller_has_no_permissions(is_active):
    UserFactory(username="ann" if not is_active else "bob", is_active=is_active)
    with pytest.raises(UnknownUser, match="no longer an active user"):
        callers.refresh_rights(asked({"call"}))


def test_a_former_member_no_longer_acts_for_a_team_unless_superuser():
    membership = MembershipFactory(user=UserFactory(username="ann"))
    caller = asked({"call"}, team=membership.team.pk)
    assert callers.refresh_rights(caller) == caller
    membership.delete()
    with pytest.raises(UnknownUser, match="no longer in the team"):
        callers.refresh_rights(caller)
    get_user_model().objects.filter(username="ann").update(is_superuser=True)
    assert callers.refresh_rights(caller) == caller


def test_the_local_admin_is_made_once_and_cannot_sign_in_with_any_password():
    callers.ensure_local_admin()
    callers.ensure_local_admin()
    admin = get_user_model().objects.get()
    assert (admin.username, admin.is_staff, admin.is_superuser) == ("admin", True, True)
    assert not admin.has_usable_password()
    assert authenticate(username="admin", password="") is None


def test_an_existing_local_admin_is_left_as_it_is():
    UserFactory(username="admin", is_active=False)
    callers.ensure_local_admin()
    admin = get_user_model().objects.get()
    assert (admin.is_active, admin.is_superuser) == (False, False)
    assert admin.check_password("not a secret")


def test_one_of_two_processes_creates_the_local_admin(monkeypatch):
    made = UserFactory(username="admin", superuser=True)
    users = get_user_model()._default_manager
    monkeypatch.setattr(type(users), "filter", lambda *_, **__: users.none())
    callers.ensure_local_admin()
    monkeypatch.undo()
    assert get_user_model().objects.get() == made
    assert made.check_password("not a secret")


def test_an_admin_without_a_password_gets_a_one_time_password():
    callers.ensure_local_admin()
    line = callers.describe_sign_in()
    (password,) = (word for word in line.split() if authenticate(username="admin", password=word))
    assert "12 hours" in line
    assert authenticate(username="admin", password=password) is None


def test_an_admin_with_a_password_gets_no_one_time_password():
    UserFactory(username="admin", superuser=True)
    assert callers.describe_sign_in() == "Sign in as admin with the password you set."
