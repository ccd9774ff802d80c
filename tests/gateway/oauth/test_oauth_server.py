"""OAuth for MCP clients: consent, tokens, and every way to be refused."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from django.utils.html import escape
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from gateway_project.access import oauth_grants, oauth_tokens, roles, tokens
from gateway_project.models import AuditEntry, OAuthClient
from tests.factories import MembershipFactory, UserFactory
from tests.gateway.oauth.flow import (
    CALLBACK,
    LOOPBACK,
    RESOURCE,
    ask,
    consent,
    exchange,
    get_tokens,
    load,
    make_verifier,
    read_code,
    refresh,
    register,
)

pytestmark = pytest.mark.django_db


def test_the_metadata_lead_from_the_endpoint_to_the_server():
    resource = Client().get("/.well-known/oauth-protected-resource/mcp").json()
    assert resource["resource"] == RESOURCE
    assert resource["authorization_servers"] == ["http://testserver"]
    assert resource["scopes_supported"] == ["search", "call", "read"]
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == "http://testserver"
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["response_types_supported"] == ["code"]
    assert server["grant_types_supported"] == ["authorization_code", "refresh_token"]
    for name, path in {
        "authorization_endpoint": "authorize",
        "token_endpoint": "token",
        "revocation_endpoint": "revoke",
        "registration_endpoint": "register",
    }.items():
        assert server[name] == f"http://testserver/oauth/{path}/"
    assert Client().get("/.well-known/oauth-protected-resource/other").status_code == 404
    group = Client().get("/.well-known/oauth-protected-resource/mcp/groups/desk").json()
    assert group["resource"] == f"{RESOURCE}/groups/desk"
    assert Client().get("/.well-known/oauth-protected-resource/mcp/groups/A").status_code == 404


def test_a_token_for_the_endpoint_of_a_group_is_limited_to_it(browser, client_id):
    verifier, challenge = make_verifier()
    resource = f"{RESOURCE}/groups/desk"
    code = read_code(consent(browser, ask(client_id, challenge, resource=resource)))["code"][0]
    made = exchange(client_id, code, verifier, resource=resource).json()
    assert load(made["access_token"]).caller.group == "desk"
    assert load(get_tokens(browser, client_id)["access_token"]).caller.group is None


def test_a_client_gets_a_token_that_acts_for_the_person_who_consented(browser, client_id, ann):
    made = get_tokens(browser, client_id)
    assert (made["token_type"], made["expires_in"]) == ("Bearer", 3_600)
    active = load(made["access_token"])
    assert active.caller.user == "ann"
    assert active.caller.scopes == {"search", "call", "read"}
    assert active.is_for_mcp
    entry = AuditEntry.objects.get(action="oauth.authorized")
    assert (entry.actor, entry.subject) == ("ann", "Claude")


def test_no_token_and_no_code_is_stored_in_clear(browser, client_id):
    made = get_tokens(browser, client_id)
    for model in (AccessToken, RefreshToken):
        stored = str(list(model.objects.values()))
        assert made["access_token"] not in stored
        assert made["refresh_token"] not in stored


def test_the_page_says_who_asks_and_for_what(browser):
    client_id = register(client_name="Cla\u202eude <b>").json()["client_id"]
    page = browser.get(ask(client_id, make_verifier()[1], scope="call"))
    text = page.content.decode()
    assert "Claude &lt;b&gt;" in text
    assert "claude.example" in text
    assert "call tools and run workflows" in text
    assert "find tools" not in text
    assert page["X-Frame-Options"] == "DENY"


def test_whoever_is_not_signed_in_is_asked_to(client_id):
    answer = Client().get(ask(client_id, make_verifier()[1]))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/account/sign-in/?next=/oauth/authorize/")


def test_a_person_refuses(browser, client_id):
    address = ask(client_id, make_verifier()[1])
    page = browser.get(address)
    fields = {key: value for key, value in page.context["form"].initial.items() if value}
    body = fields | {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
    answer = read_code(browser.post(address, body))
    assert answer["error"] == ["access_denied"]
    assert answer["iss"] == ["http://testserver"]
    assert answer["state"] == ["s1"]
    assert not AuditEntry.objects.filter(action="oauth.authorized").exists()


def test_consent_is_asked_for_each_time(browser, client_id):
    get_tokens(browser, client_id)
    answer = browser.get(ask(client_id, make_verifier()[1], approval_prompt="auto"))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": "http://testserver/admin"}, "invalid_target"),
        ({"resource": [RESOURCE, "https://other.example/mcp"]}, "invalid_target"),
        ({"resource": "not an address"}, "invalid_target"),
        ({"resource": f"{RESOURCE}/groups/"}, "invalid_target"),
        ({"resource": [RESOURCE, f"{RESOURCE}/groups/a"]}, "invalid_target"),
        ({"resource": [f"{RESOURCE}/groups/a", f"{RESOURCE}/groups/b"]}, "invalid_target"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
    ],
    ids=str,
)
def test_a_refused_request_shows_a_page_that_links_to_the_client(
    browser, client_id, values, error
):
    answer = browser.get(ask(client_id, make_verifier()[1], **values))
    assert answer.status_code == 400, answer.content
    assert "Location" not in answer
    address = answer.context["return_address"]
    assert escape(address) in answer.content.decode()
    assert address.startswith(CALLBACK)
    told = parse_qs(urlsplit(address).query)
    assert told["error"][0] in (error, "unauthorized_client"), told
    assert told["iss"] == ["http://testserver"]


@pytest.mark.parametrize("prompt", ["none", "login", "none login", "x"])
def test_nobody_is_sent_to_a_client_without_a_decision(browser, client_id, prompt):
    for client in (browser, Client()):
        answer = client.get(ask(client_id, "c", prompt=prompt, code_challenge_method="plain"))
        assert not answer.headers.get("Location", "/").startswith("http")


def test_an_error_goes_straight_to_an_address_that_the_person_consented_to_before(
    browser, client_id, ann
):
    consent(browser, ask(client_id, make_verifier()[1]))
    wrong = ask(client_id, "c", code_challenge_method="plain")
    told = read_code(browser.get(wrong))
    assert (told["error"], told["iss"]) == (["invalid_request"], ["http://testserver"])
    other = register(redirect_uris=[CALLBACK, f"{CALLBACK}/2"]).json()["client_id"]
    elsewhere = ask(other, "c", code_challenge_method="plain", redirect_uri=f"{CALLBACK}/2")
    another = Client()
    another.force_login(ann)
    for client, address in ((browser, elsewhere), (another, wrong)):
        assert client.get(address).status_code == 400


@pytest.mark.parametrize("resource", [None, "http://testserver", "http://TESTSERVER/"])
def test_a_client_that_names_no_endpoint_gets_a_token_for_the_whole_one(
    browser, client_id, resource
):
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge, resource=resource)))["code"][0]
    named = {} if resource is None else {"resource": resource}
    made = exchange(client_id, code, verifier, **named).json()
    assert load(made["access_token"]) is not None


@pytest.mark.parametrize(
    ("scope", "granted"),
    [
        ("openid offline_access search", {"search"}),
        ("search administer", {"search"}),
        ("openid", {"search", "call", "read"}),
        ("*", {"search", "call", "read"}),
        (None, {"search", "call", "read"}),
    ],
)
def test_scopes_that_are_not_there_are_left_out(browser, client_id, scope, granted):
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge, scope=scope)))["code"][0]
    made = exchange(client_id, code, verifier).json()
    assert set(made["scope"].split()) == granted


@pytest.mark.parametrize("method", ["S256", "plain"])
def test_no_browser_stores_the_consent_page(browser, client_id, method):
    answer = browser.get(ask(client_id, make_verifier()[1], code_challenge_method=method))
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(
    "redirect",
    [
        "https://evil.example/callback",
        CALLBACK + "?next=https://evil.example",
        CALLBACK + "/..",
        "https://claude.example.evil.example/callback",
        "javascript:alert(1)",
        "http://claude.example/callback",
        "//evil.example",
        "//claude.example/callback",
        CALLBACK + "/../evil",
        CALLBACK + "/",
        CALLBACK + "?x=1",
        CALLBACK + "#x",
        "https://claude.example:444/callback",
    ],
)
def test_nobody_is_sent_to_another_address(browser, client_id, redirect):
    answer = browser.get(ask(client_id, make_verifier()[1], redirect_uri=redirect))
    assert answer.status_code == 400
    assert "Location" not in answer


@pytest.mark.parametrize("unknown", ["nobody", "a\0b", "x" * 10_000])
def test_an_unknown_client_is_refused_on_the_page(browser, client_id, unknown):
    answer = browser.get(ask(unknown, make_verifier()[1]))
    assert answer.status_code == 400
    assert "Location" not in answer
    answer = consent(browser, ask(client_id, make_verifier()[1]), client_id=unknown)
    assert answer.status_code in (200, 400)
    assert "Location" not in answer
    assert not Grant.objects.exists()


@pytest.mark.parametrize("decision", [{}, {"allow": ""}])
def test_a_changed_form_sends_nobody_to_another_address(browser, client_id, decision):
    address = ask(client_id, make_verifier()[1])
    answer = consent(browser, address, redirect_uri="https://evil.example/cb", **decision)
    assert answer.status_code == 400
    assert "Location" not in answer


def test_a_code_is_used_once_by_the_client_that_asked_for_it(browser, client_id):
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge)))["code"][0]
    other = register().json()["client_id"]
    assert exchange(client_id, code, make_verifier()[0]).status_code == 400
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge)))["code"][0]
    assert exchange(other, code, verifier).status_code == 400
    assert exchange(client_id, code, verifier, redirect_uri=LOOPBACK).status_code == 400
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge)))["code"][0]
    assert exchange(client_id, code, verifier).status_code == 200
    assert exchange(client_id, code, verifier).status_code == 400


@pytest.mark.parametrize("is_renewed", [False, True])
def test_a_code_used_twice_ends_all_tokens_that_came_from_it(browser, client_id, is_renewed):
    kept = get_tokens(browser, client_id)
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge)))["code"][0]
    made = exchange(client_id, code, verifier).json()
    if is_renewed:
        made = refresh(client_id, made["refresh_token"]).json()
    assert exchange(client_id, "x" * 30, verifier).status_code == 400
    assert load(made["access_token"])
    assert exchange(client_id, code, verifier).json()["error"] == "invalid_grant"
    assert load(made["access_token"]) is None
    assert refresh(client_id, made["refresh_token"]).status_code == 400
    assert load(kept["access_token"])


def test_a_deactivated_person_s_code_and_refresh_token_are_not_exchanged(browser, client_id):
    made = get_tokens(browser, client_id)
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge)))["code"][0]
    User.objects.update(is_active=False)
    for answer in (exchange(client_id, code, verifier), refresh(client_id, made["refresh_token"])):
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    User.objects.update(is_active=True)
    assert refresh(client_id, made["refresh_token"]).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"grant_type": "urn:ietf:params:oauth:grant-type:device_code"},
        {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "x"},
        {"grant_type": "password", "username": "ann", "password": "x"},
        {"grant_type": "client_credentials"},
        {"grant_type": "refresh_token"},
        {"grant_type": "authorization_code", "client_id": "a\0b"},
        {"grant_type": "authorization_code", "code": "a\0b"},
        {},
    ],
    ids=str,
)
def test_what_the_token_endpoint_does_not_serve_is_an_error_of_oauth(client_id, body):
    answer = Client().post("/oauth/token/", {"client_id": client_id} | body)
    assert answer.status_code in (400, 401)
    assert answer.json()["error"] in {
        "unsupported_grant_type", "invalid_request", "invalid_grant", "invalid_client"
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_of_several_exchanges_of_a_code_at_once_one_succeeds_and_its_tokens_end(
    browser, client_id
):
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge)))["code"][0]
    answers = send_at_once(partial(exchange, client_id, code, verifier))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    (made,) = (answer.json() for answer in answers if answer.status_code == 200)
    assert load(made["access_token"]) is None
    assert not AccessToken.objects.filter(user__isnull=False).exists()


@pytest.mark.django_db(transaction=True)
def test_windows_that_share_a_refresh_token_all_stay_signed_in(browser, client_id):
    first = get_tokens(browser, client_id)["refresh_token"]
    answers = send_at_once(partial(refresh, client_id, first))
    made = [answer.json() for answer in answers]
    assert {answer.status_code for answer in answers} == {200}
    assert all(load(one["access_token"]) is not None for one in made)
    assert {refresh(client_id, one["refresh_token"]).status_code for one in made} == {200}


def send_at_once(send):
    def answer_once(_number):
        try:
            return send()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(answer_once, range(4)))


def test_a_refresh_token_exchanged_again_gives_no_more_than_it_did(browser, client_id):
    first = get_tokens(browser, client_id, scope="search")["refresh_token"]
    refresh(client_id, first)
    other = refresh(client_id, first, resource="http://testserver/mcp/groups/a")
    assert other.json()["error"] == "invalid_target"
    again = refresh(client_id, first, scope="openid call search").json()
    assert again["scope"] == "search"
    row = AccessToken.objects.get(token_checksum=tokens.hash_token(again["access_token"]))
    assert row.resource == [RESOURCE]
    stranger = register().json()["client_id"]
    assert refresh(stranger, first).status_code == 400


def test_a_code_does_not_become_a_token_for_another_resource(browser, client_id):
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge)))["code"][0]
    answer = exchange(client_id, code, verifier, resource="https://other.example/mcp")
    assert answer.status_code == 400


def test_the_issuer_comes_with_the_code(browser, client_id):
    answer = read_code(consent(browser, ask(client_id, make_verifier()[1])))
    assert answer["iss"] == ["http://testserver"]
    assert answer["state"] == ["s1"]


def test_a_resource_changed_on_the_page_makes_a_token_for_nothing(browser, client_id):
    verifier, challenge = make_verifier()
    address = ask(client_id, challenge)
    other = "https://other.example/mcp"
    code = read_code(consent(browser, address, resource=other))["code"][0]
    answer = exchange(client_id, code, verifier, resource=other)
    assert answer.status_code != 200 or load(answer.json()["access_token"]) is None


def test_a_refresh_token_is_used_once_and_its_theft_ends_all(browser, client_id):
    first = get_tokens(browser, client_id)
    second = refresh(client_id, first["refresh_token"])
    assert second.status_code == 200
    assert load(second.json()["access_token"]) is not None
    RefreshToken.objects.update(revoked=F("revoked") - oauth_grants.REPEATED_FOR)
    assert refresh(client_id, first["refresh_token"]).status_code == 400
    assert load(first["access_token"]) is load(second.json()["access_token"]) is None
    assert refresh(client_id, second.json()["refresh_token"]).status_code == 400


def test_a_renewed_token_keeps_its_time_and_the_windows_that_use_it_stay(browser, client_id):
    first = get_tokens(browser, client_id)
    for _ in range(2):
        renewed = refresh(client_id, first["refresh_token"])
        assert refresh(client_id, renewed.json()["refresh_token"], resource="x").status_code == 400
        assert load(first["access_token"])
        assert load(renewed.json()["access_token"])
    AccessToken.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert load(first["access_token"]) is None


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_revoking_one_token_ends_all_of_its_consent(browser, client_id, kind, number):
    other = get_tokens(browser, client_id)
    made = [get_tokens(browser, client_id)]
    made.append(refresh(client_id, made[0]["refresh_token"]).json())
    made.append(refresh(client_id, made[1]["refresh_token"]).json())
    stranger = register().json()["client_id"]
    for client, is_valid in ((stranger, True), (client_id, False)):
        body = {"token": made[number][kind], "client_id": client}
        assert Client().post("/oauth/revoke/", body).status_code == 200
        assert [load(one["access_token"]) is not None for one in made] == [is_valid] * 3
    assert refresh(client_id, made[2]["refresh_token"]).status_code == 400
    assert load(other["access_token"])


def test_a_token_ends_with_its_time_its_user_its_client_and_its_revocation(browser, client_id):
    token = get_tokens(browser, client_id)["access_token"]
    assert load(token)
    AccessToken.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert load(token) is None

    token = get_tokens(browser, client_id)["access_token"]
    User.objects.update(is_active=False)
    assert load(token) is None
    User.objects.update(is_active=True)
    assert load(token)
    body = {"token": token, "client_id": client_id}
    assert Client().post("/oauth/revoke/", body).status_code == 200
    assert load(token) is None

    token = get_tokens(browser, client_id)["access_token"]
    OAuthClient.objects.all().delete()
    assert load(token) is None


def test_the_api_does_not_accept_it(browser, client_id):
    token = get_tokens(browser, client_id)["access_token"]
    answer = Client().get("/api/v1/tools/", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401
    assert "issued for MCP" in answer.json()["detail"]


def test_a_token_acts_for_the_only_team_of_its_user(browser, client_id, ann):
    token = get_tokens(browser, client_id)["access_token"]
    assert load(token).caller.team is None
    team = MembershipFactory(user=ann).team
    assert load(token).caller.team == team.pk
    MembershipFactory(user=ann)
    assert load(token).caller.team is None


def test_a_superuser_s_client_may_do_what_clients_may(client_id):
    root = UserFactory(username="root", superuser=True)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(root)
    token = get_tokens(browser, client_id)["access_token"]
    assert load(token).caller.scopes == {"search", "call", "read"}


def test_switched_off_no_such_token_is_accepted(browser, client_id, settings):
    token = get_tokens(browser, client_id)["access_token"]
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"oauth": False})
    assert load(token) is None


@pytest.mark.parametrize(
    ("resource", "is_own"),
    [
        (RESOURCE, True),
        (RESOURCE + "/", True),
        ("https://testserver/mcp", True),
        ("http://localhost:8760/mcp", True),
        ("http://testserver.evil.example/mcp", False),
        ("http://testserver/mcp/other", False),
        ("http://testserver/", False),
        ("http://testserver/mcp?x=1", False),
        ("http://testserver/mcp#x", False),
        ("ftp://testserver/mcp", False),
        ("http://user@evil.example:80\\@testserver/mcp", False),
        ("http://[bad/mcp", False),
        ("", False),
        (None, False),
        (3, False),
    ],
)
def test_only_this_gateway_s_endpoint_is_its_own(resource, is_own):
    assert oauth_tokens.is_own_resource(resource) is is_own


def test_users_who_may_nothing_a_client_could_do_are_not_asked(client_id, ann):
    roles.set_access(ann, is_denied=True)
    browser = Client()
    browser.force_login(ann)
    address = ask(client_id, make_verifier()[1])
    assert browser.get(address).status_code == 403
    form = {
        "allow": "Allow", "client_id": client_id, "redirect_uri": CALLBACK, "scope": "call",
        "response_type": "code", "code_challenge": "x" * 43, "code_challenge_method": "S256",
    }  # fmt: skip
    assert browser.post(address, form).status_code == 403
    assert not Grant.objects.exists()


def test_people_who_are_not_staff_may_consent(client_id):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(UserFactory(username="ben"))
    assert load(get_tokens(browser, client_id)["access_token"]).caller.user == "ben"


def test_a_form_of_another_site_consents_to_nothing(browser, client_id):
    address = ask(client_id, make_verifier()[1])
    form = {"allow": "Allow", "client_id": client_id, "redirect_uri": CALLBACK, "scope": "call"}
    assert browser.post(address, form).status_code == 403
    page = browser.get(address)
    assert page["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]


@pytest.mark.parametrize("prompt", ["none", "login", "consent", "create"])
def test_no_prompt_gets_a_code_without_consent(browser, client_id, prompt):
    answer = browser.get(ask(client_id, make_verifier()[1], prompt=prompt))
    assert "code=" not in answer.headers.get("Location", "").partition("?next=")[0]
    assert not Grant.objects.exists()
