"""Clients register themselves: what is taken, what is refused, and who makes room."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import check_password
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from gateway_project.access import oauth_tokens, retention
from gateway_project.console import oauth_server
from gateway_project.models import AuditEntry, OAuthClient
from tests.factories import UserFactory
from tests.gateway.oauth.flow import (
    CALLBACK,
    LOOPBACK,
    ask,
    consent,
    exchange,
    get_tokens,
    load,
    make_verifier,
    read_code,
    register,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "values",
    [
        {"redirect_uris": []},
        {"redirect_uris": ["http://claude.example/callback"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["ms-msdt:/id"]},
        {"redirect_uris": ["data://callback/x"]},
        {"redirect_uris": ["cursor://user@callback/x"]},
        {"redirect_uris": ["cursor://callbàck/x"]},
        {"redirect_uris": [CALLBACK + "#fragment"]},
        {"redirect_uris": ["https://*.example/callback"]},
        {"redirect_uris": "text"},
        {"redirect_uris": [3]},
        {"grant_types": ["client_credentials"]},
        {"grant_types": ["password"]},
        {"grant_types": ["implicit"]},
        {"grant_types": ["urn:ietf:params:oauth:grant-type:device_code"]},
        {"client_name": "x" * 256},
        {"client_name": "a\0b"},
        {"client_name": "a\ud83d"},
        {"token_endpoint_auth_method": "private_key_jwt"},
    ],
    ids=str,
)
def test_registrations_of_what_is_not_served_are_refused(values):
    answer = register(**values)
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]
    assert not OAuthClient.objects.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"grant_types": ["authorization_code", "refresh_token", "implicit", "password"]},
        {"grant_types": ["authorization_code"], "response_types": ["code", "id_token"]},
        {"grant_types": []},
        {"token_endpoint_auth_method": ""},
        dict.fromkeys(
            ("client_name", "grant_types", "response_types", "token_endpoint_auth_method", "scope")
        ),
    ],
    ids=str,
)
def test_clients_get_what_is_served_of_what_they_ask_for(values):
    answer = register(**values)
    assert answer.status_code == 201, answer.content
    assert answer.json()["grant_types"] == ["authorization_code", "refresh_token"]
    assert answer.json()["response_types"] == ["code"]


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post", None])
def test_the_answer_to_a_registration_has_what_strict_clients_look_for(method):
    made = register(token_endpoint_auth_method=method).json()
    assert made["client_id_issued_at"] > 0
    assert made.get("client_secret_expires_at") == (None if method == "none" else 0)
    assert ("client_secret" in made) is (method != "none")
    assert None not in made.values()


@pytest.mark.parametrize("body", ["{", "[]", '"x"', "", "[" * 10_000])
def test_bad_registrations_are_refused(body):
    answer = Client().post("/oauth/register/", body, content_type="application/json")
    assert answer.status_code == 400


def test_programs_of_this_machine_may_listen_at_any_port(browser):
    client_id = register(redirect_uris=[LOOPBACK, "http://localhost/cb"]).json()["client_id"]
    verifier, challenge = make_verifier()
    other_port = "http://127.0.0.1:9999/callback"
    answer = consent(browser, ask(client_id, challenge, redirect_uri=other_port))
    code = read_code(answer)["code"][0]
    assert answer["Location"].startswith(other_port)
    assert exchange(client_id, code, verifier, redirect_uri=other_port).status_code == 200


@pytest.mark.parametrize(
    "address", ["cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/callback"]
)
def test_a_native_program_is_told_by_a_scheme_of_its_own(browser, address):
    client_id = register(redirect_uris=[address]).json()["client_id"]
    verifier, challenge = make_verifier()
    asked = ask(client_id, challenge, redirect_uri=address)
    page = browser.get(asked)
    scheme = address.partition(":")[0]
    assert f"opens <strong>{scheme}:</strong> addresses" in page.content.decode()
    assert page["Content-Security-Policy"].endswith(f" {scheme}:")
    answer = consent(browser, asked)
    assert answer["Location"].startswith(f"{address}?")
    code = read_code(answer)["code"][0]
    assert exchange(client_id, code, verifier, redirect_uri=address).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/oauth/register/",
        "/oauth/token/",
    ],
)
def test_pages_of_any_site_may_sign_in(path):
    asked = {"Origin": "https://inspector.example", "Access-Control-Request-Method": "POST"}
    preflight = Client().options(path, headers=asked)
    assert preflight.status_code == 204
    assert "mcp-protocol-version" in preflight["Access-Control-Allow-Headers"]
    for answer in (preflight, Client().get(path), Client().post(path)):
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer


def test_the_secret_of_a_client_is_random_so_hashing_it_takes_no_work():
    made = register(token_endpoint_auth_method="client_secret_post").json()
    stored = OAuthClient.objects.get(client_id=made["client_id"]).client_secret
    assert stored.split("$")[:2] == ["pbkdf2_sha256_random", "1"]
    assert check_password(made["client_secret"], stored)
    assert not check_password("x", stored)


def test_registrations_are_limited_by_address_and_size(monkeypatch):
    assert register(client_name="x" * 30_000).status_code == 413
    monkeypatch.setattr(oauth_server, "_REGISTRATIONS", oauth_server.Throttle(limit=1))
    assert register().status_code == 201
    assert register().status_code == 429


def register_from(address):
    body = {"client_name": "x", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    made = Client(REMOTE_ADDR=address).post(
        "/oauth/register/", json.dumps(body), content_type="application/json"
    )
    assert made.status_code == 201
    return made.json()["client_id"]


def list_clients():
    return set(OAuthClient.objects.values_list("client_id", flat=True))


def test_when_all_places_are_taken_the_address_with_most_makes_room(monkeypatch):
    monkeypatch.setattr(oauth_tokens, "MAX_CLIENTS", 4)
    quiet = register_from("192.0.2.1")
    oldest, *others = [register_from("192.0.2.2") for _ in range(3)]
    new = register_from("192.0.2.3")
    assert list_clients() == {quiet, *others, new}
    assert oldest not in list_clients()


def test_an_address_replaces_its_own_clients_that_nobody_authorized(browser, monkeypatch):
    monkeypatch.setattr(oauth_tokens, "MAX_CLIENTS_OF_ADDRESS", 2)
    authorized = register_from("192.0.2.2")
    get_tokens(browser, authorized)
    oldest, other = register_from("192.0.2.2"), register_from("192.0.2.2")
    new = register_from("192.0.2.2")
    assert list_clients() == {authorized, other, new}
    assert oldest not in list_clients()


def test_whoever_authorized_most_clients_makes_room_with_the_one_unused_for_longest(
    browser, monkeypatch
):
    monkeypatch.setattr(oauth_tokens, "MAX_CLIENTS", 4)
    monkeypatch.setattr(oauth_tokens, "MAX_CLIENTS_OF_ADDRESS", 9)
    bob = Client(enforce_csrf_checks=True)
    bob.force_login(UserFactory(username="bob", staff=True))
    of_bob = register_from("192.0.2.1")
    get_tokens(bob, of_bob)
    of_ann = [register_from(f"192.0.2.{number}") for number in range(2, 5)]
    for client in of_ann:
        get_tokens(browser, client)
    RefreshToken.objects.filter(application__client_id=of_ann[0]).update(updated=timezone.now())
    new = register_from("192.0.2.9")
    assert list_clients() == {of_bob, of_ann[0], of_ann[2], new}


def test_a_client_that_a_person_entered_never_makes_room(monkeypatch):
    monkeypatch.setattr(oauth_tokens, "MAX_CLIENTS", 1)
    entered = register_from("192.0.2.1")
    OAuthClient.objects.update(registered_from="")
    register_from("192.0.2.2")
    register_from("192.0.2.3")
    assert entered in list_clients()
    assert len(list_clients()) == 2


def test_an_authorized_client_that_is_unused_for_a_month_is_deleted(browser, client_id):
    get_tokens(browser, client_id)
    retention.delete_old()
    assert list_clients() == {client_id}
    long_ago = timezone.now() - timedelta(days=31)
    OAuthClient.objects.update(created=long_ago)
    AccessToken.objects.update(expires=long_ago)
    Grant.objects.update(expires=long_ago)
    retention.delete_old()
    assert list_clients() == set()


def test_clients_that_nobody_authorized_are_deleted_after_a_day(browser, client_id):
    get_tokens(browser, client_id)
    unused = register().json()["client_id"]
    OAuthClient.objects.update(created=timezone.now() - timedelta(days=2))
    fresh = register().json()["client_id"]
    assert retention.count_old().clients == 1
    assert retention.delete_old().clients == 1
    assert set(OAuthClient.objects.values_list("client_id", flat=True)) == {client_id, fresh}
    assert unused != fresh


def test_a_registration_is_managed_by_its_own_token_only(client_id):
    made = register().json()
    address = f"/oauth/register/{made['client_id']}/"
    other = register().json()["registration_access_token"]
    for token in (other, "x"):
        answer = Client().get(address, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code in (401, 403)
    own = {"Authorization": f"Bearer {made['registration_access_token']}"}
    assert Client().get(address, headers=own).status_code == 200
    assert Client().delete(address, headers=own).status_code == 204
    assert load(made["registration_access_token"]) is None


@pytest.mark.parametrize(
    "address",
    ["https://claude.example@evil.example/cb", "https://claude.example\\@evil.example/cb",
     "https://u:p@evil.example/cb", "https://cl\u0430ude.example/cb", "https://a.example;b/cb"],
)  # fmt: skip
def test_an_address_that_looks_like_another_is_not_registered(address):
    answer = register(redirect_uris=[address])
    assert answer.status_code == 400, answer.content


def test_a_change_of_a_registration_has_the_limits_of_registering(monkeypatch):
    made = register().json()
    own = {"Authorization": f"Bearer {made['registration_access_token']}"}

    def change(*addresses):
        body = {"redirect_uris": list(addresses), "token_endpoint_auth_method": "none"}
        path = f"/oauth/register/{made['client_id']}/"
        return Client().put(path, json.dumps(body), content_type="application/json", headers=own)

    assert change("https://claude.example@evil.example/cb").status_code == 400
    assert change(*(f"{CALLBACK}/{number}" for number in range(2_000))).status_code == 413
    assert OAuthClient.objects.get().redirect_uris == CALLBACK
    answer = change(CALLBACK + "/new")
    assert answer.status_code == 200, answer.content
    assert AuditEntry.objects.filter(action="oauth.changed").count() == 1
    monkeypatch.setattr(oauth_server, "_REGISTRATIONS", oauth_server.Throttle(limit=0))
    assert change(CALLBACK).status_code == 429
