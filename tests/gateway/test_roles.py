"""Roles: which scopes they give, and what remains of a token's scopes."""

import itertools

import pytest
from django.contrib.auth.models import Group

from gateway_project.access import callers, roles, tokens
from gateway_project.access.roles import NotPermitted, UnknownRole
from gateway_project.foundation.caller import Caller
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", roles.ROLES)
def test_a_role_gives_its_scopes(role):
    user = UserFactory(username="ann")
    assert roles.set_roles(user, [role])
    assert callers.caller_for_user("ann", kind="console").scopes == set(roles.ROLES[role])


def test_each_role_has_the_scopes_of_the_one_before():
    held = [set(scopes) for scopes in roles.ROLES.values()]
    assert all(less < more for less, more in itertools.pairwise(held))


def test_roles_are_replaced_and_other_groups_stay():
    user = UserFactory(username="ann")
    user.groups.add(Group.objects.create(name="night shift"))
    roles.set_roles(user, ["admin"])
    assert roles.set_roles(user, ["viewer"])
    assert not roles.set_roles(user, ["viewer"])
    assert set(user.groups.values_list("name", flat=True)) == {"night shift", "viewer"}
    assert roles.load_roles("ann") == ("viewer",)


def test_an_unknown_role_is_refused():
    with pytest.raises(UnknownRole, match="no role king; there are viewer"):
        roles.set_roles(UserFactory(), ["king", "viewer"])


def test_a_token_loses_what_its_user_loses():
    user = UserFactory(username="ann")
    roles.set_roles(user, ["curator"])
    _, token = tokens.create_token(user, name="x", scopes=["search", "call", "curate"])
    roles.set_roles(user, ["viewer"])
    caller = tokens.authenticate_token(token)
    assert caller is not None
    assert caller.scopes == {"search"}


def test_the_error_names_the_scope():
    caller = Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="http")
    with pytest.raises(NotPermitted, match="'ann' lacks the scope 'curate'"):
        roles.require_scope(caller, roles.CURATE)


def test_an_upgraded_database_has_the_groups_with_permissions():
    found = {group.name: group.permissions.count() for group in Group.objects.all()}
    assert set(found) == set(roles.ROLES)
    assert 0 < found["viewer"] <= found["operator"] < found["curator"] < found["admin"]
