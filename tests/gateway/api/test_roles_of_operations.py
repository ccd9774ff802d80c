"""Which role may use which operation, and nobody without a token any."""

import pytest
from django.urls import get_resolver

from gateway_project.api.urls import urlpatterns
from tests.gateway.api.conftest import ROLES, ApiClient, make_client, make_user
from tests.gateway.api.operations import OPERATIONS, PUBLIC, all_operations, fill, served

pytestmark = pytest.mark.django_db


def test_every_operation_is_listed():
    assert {route: set(methods) for route, methods in OPERATIONS.items()} == served()
    assert {str(one.pattern) for one in urlpatterns} == {*OPERATIONS, *PUBLIC}
    assert "api/v1/" in {str(one.pattern) for one in get_resolver().url_patterns}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_use_what_it_should_and_nothing_else(sign_in, role):
    api = sign_in(role)
    for route, method, least in all_operations():
        response = api.send(method, fill(route), {} if method in ("POST", "PUT") else None)
        is_allowed = ROLES.index(role) >= ROLES.index(least)
        assert (response.status_code == 403) is not is_allowed, (method, route, response.content)
        assert response.status_code not in (401, 405), (method, route)
        assert response.status_code < 500, (method, route, response.content)
        if not is_allowed:
            assert response.json()["code"] == "not_permitted"


def test_a_user_without_a_role_is_a_member(sign_in):
    api = sign_in("member")
    assert api.get("approvals/").status_code == 200
    assert api.get("definitions/").status_code == 403


def test_a_token_may_do_less_than_its_user():
    api = make_client(make_user("ann", "admin"), scopes=["search"])
    assert api.get("tools/").status_code == 200
    assert api.get("runs/").status_code == 403


def test_nobody_uses_an_operation_without_a_token():
    for api in (ApiClient(), ApiClient("fgt_wrong")):
        for route, method, _ in all_operations():
            response = api.send(method, fill(route))
            assert response.status_code == 401, (method, route)
            assert response["WWW-Authenticate"].startswith("Bearer")
            assert response.json()["code"] == "unauthorized"


def test_methods_that_are_not_served_are_named(root):
    response = root.send("PUT", "search/")
    assert response.status_code == 405
    assert response.json()["code"] == "method_not_allowed"
    assert set(response["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


@pytest.mark.parametrize("address", sorted(PUBLIC))
def test_the_description_needs_no_token(address):
    assert ApiClient().get(address).status_code == 200
