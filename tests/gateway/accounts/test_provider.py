"""Sign-in with an OpenID Connect provider that runs beside the test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from datetime import timedelta

import jwt
import pytest
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pydantic import SecretStr

from gateway_project.access import retention, roles, tokens
from gateway_project.access.callers import caller_for_user
from gateway_project.models import AuditEntry
from tests.factories import MembershipFactory, UserFactory
from tests.gateway.accounts.identity_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    make_elliptic_key,
    other_key,
    read_query,
    serve_identity_provider,
)

pytestmark = pytest.mark.django_db
RULES = "ops=operator; bosses=admin; cn=data,dc=example=team:data; chiefs=team-admin:data"


@pytest.fixture
def idp(home, settings):
    """Have a provider that the settings name."""
    with serve_identity_provider() as provider:
        configure(
            settings,
            oidc_issuer=provider.issuer,
            oidc_client_id=CLIENT_ID,
            oidc_client_secret=SecretStr(CLIENT_SECRET),
            oidc_groups=RULES,
        )
        yield provider


def configure(settings, **values):
    settings.FOREGATE = settings.FOREGATE.model_copy(update=values)


def begin(browser, **form):
    answer = browser.post(reverse("oidc-begin"), form)
    assert answer.status_code == 302, answer.content
    return answer["Location"]


def sign_in(idp, browser=None, **form):
    """Sign in at the provider; return the browser and the console's last answer."""
    browser = browser or Client()
    return browser, browser.get(idp.authorize(begin(browser, **form)))


def user_of(browser):
    key = browser.session.get("_auth_user_id")
    return None if key is None else User.objects.get(pk=key)


def test_people_sign_in_with_the_button_of_the_provider(idp):
    page = Client().get(reverse("account_login"))
    assert "Sign in with single sign-on" in page.content.decode()
    assert "form-action 'self' https:" in page["Content-Security-Policy"]
    browser, answer = sign_in(idp, next="/approvals/")
    assert (answer.status_code, answer["Location"]) == (302, "/approvals/")
    ann = user_of(browser)
    assert (ann.username, ann.is_superuser, ann.is_staff) == ("ann", False, True)
    assert roles.load_roles("ann") == ("operator",)
    assert not ann.has_usable_password()
    assert browser.session.get_expiry_age() <= 12 * 3_600
    entry = AuditEntry.objects.get(action="user.signed_in")
    assert entry.detail == {"methods": ["socialaccount"]}


def test_without_a_provider_there_is_no_button_and_no_way(home):
    page = Client().get(reverse("account_login"))
    assert "provider" not in page.content.decode()
    assert page["Content-Security-Policy"].endswith("form-action 'self'")
    for answer in (
        Client().post(reverse("oidc-begin")),
        Client().get(reverse("oidc-callback"), {"code": "x", "state": "y"}),
    ):
        assert answer.status_code == 404


def test_a_secret_may_be_sent_in_the_form(idp):
    idp.auth_methods = ["client_secret_post"]
    browser, _ = sign_in(idp)
    assert user_of(browser).username == "ann"


def test_the_request_of_a_page_elsewhere_begins_no_sign_in(idp):
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("oidc-begin")).status_code == 403
    assert strict.get(reverse("oidc-begin")).status_code == 405


def test_parameters_of_the_address_change_nothing_of_the_request(idp):
    browser = Client()
    forged = (
        "?scope=admin&auth_params=nonce%3Dx%26redirect_uri%3Dhttps://evil.example&process=connect"
    )
    query = read_query(browser.post(reverse("oidc-begin") + forged)["Location"])
    assert query["redirect_uri"] == ["http://testserver/account/provider/callback/"]
    assert set(query["scope"][0].split()) == {"openid", "profile", "email"}
    assert query["nonce"] != ["x"]


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)",
     "http://testserver.evil.example/", "\thttps://evil.example"],
)  # fmt: skip
def test_nobody_is_led_to_another_site(idp, address):
    _, answer = sign_in(idp, next=address)
    assert answer["Location"] == reverse("home")


def test_the_same_person_comes_back_whatever_their_name_and_address(idp):
    browser, _ = sign_in(idp)
    ann = user_of(browser)
    idp.claims = {"preferred_username": "married", "email": "new@example.com"}
    again, _ = sign_in(idp)
    assert user_of(again) == ann
    assert User.objects.count() == 1


def test_a_local_user_of_that_name_or_address_is_somebody_else(idp):
    local = UserFactory(username="ann", email="ann@example.com", superuser=True)
    idp.claims = {"email": "ann@example.com", "email_verified": True}
    browser, _ = sign_in(idp)
    other = user_of(browser)
    assert other != local
    assert other.username != "ann"
    assert not other.is_superuser


def test_a_subject_of_another_issuer_is_somebody_else(idp, settings):
    first, _ = sign_in(idp)
    with serve_identity_provider() as second:
        configure(settings, oidc_issuer=second.issuer)
        browser, _ = sign_in(second)
        assert user_of(browser) != user_of(first)
    assert SocialAccount.objects.count() == 2


def forge(**changed):
    return lambda payload: jwt.encode(payload | changed, "a" * 40, algorithm="HS256")


def sign_with_public_key(idp):
    """Return a maker of tokens that takes the public key for a shared secret."""
    public = idp.signing_key.key.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def make(payload):
        def encode(value):
            return base64.urlsafe_b64encode(value).rstrip(b"=")

        head = encode(json.dumps({"alg": "HS256", "kid": "one"}).encode())
        body = encode(json.dumps(payload).encode())
        mac = hmac.digest(pem, head + b"." + body, hashlib.sha256)
        return (head + b"." + body + b"." + encode(mac)).decode()

    return make


NOW = 1_800_000_000
"""Stands for the time of a test: names of tests are the same in each process."""
TIMES = frozenset({"exp", "iat", "nbf"})
BAD_CLAIMS = [
    {"nonce": "of another sign-in"},
    {"nonce": None},
    {"nonce": 3},
    {"aud": "another client"},
    {"aud": None},
    {"aud": [CLIENT_ID, "another"]},
    {"azp": "another"},
    {"iss": "https://evil.example"},
    {"iss": None},
    {"exp": NOW - 120},
    {"exp": None},
    {"iat": NOW + 3_600},
    {"nbf": NOW + 3_600},
    {"sub": ""},
    {"sub": None},
    {"sub": 7},
    {"sub": "x" * 256},
]


def at_the_time(claims):
    """Return claims with times around that of the test instead of `NOW`."""
    now = int(time.time())
    return {
        name: now + (value - NOW) if value and name in TIMES else value
        for name, value in claims.items()
    }


@pytest.mark.parametrize("claims", BAD_CLAIMS, ids=str)
def test_a_token_with_a_wrong_claim_signs_nobody_in(idp, claims):
    idp.claims = at_the_time(claims)
    browser, answer = sign_in(idp)
    assert answer.status_code == 403
    assert user_of(browser) is None
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "claims", [{"exp": NOW - 30}, {"iat": NOW + 30}, {"aud": [CLIENT_ID]}, {"azp": CLIENT_ID}],
    ids=str,
)  # fmt: skip
def test_clocks_may_differ_a_little_and_audiences_be_lists(idp, claims):
    idp.claims = at_the_time(claims)
    browser, _ = sign_in(idp)
    assert user_of(browser).username == "ann"


@pytest.mark.parametrize("kind", ["none", "HS256", "public key as secret", "other key", "garbage"])
def test_a_token_that_the_provider_did_not_sign_signs_nobody_in(idp, kind):
    def encode_with_other_key(payload):
        return jwt.encode(payload, other_key().key, algorithm="RS256", headers={"kid": "one"})

    idp.make_token = {
        "none": lambda payload: jwt.encode(payload, None, algorithm="none"),
        "HS256": forge(),
        "public key as secret": sign_with_public_key(idp),
        "other key": encode_with_other_key,
        "garbage": lambda _: "not.a.token",
    }[kind]
    browser, answer = sign_in(idp)
    assert answer.status_code == 403
    assert user_of(browser) is None


def test_new_keys_of_the_provider_are_fetched_when_needed(idp):
    sign_in(idp)
    key = make_elliptic_key("new")
    idp.signing_key, idp.published_keys = key, [*idp.published_keys, key]
    browser, _ = sign_in(idp)
    assert user_of(browser).username == "ann"
    assert idp.requests.count("GET /jwks") == 2
    assert idp.requests.count("GET /.well-known/openid-configuration") == 1


@pytest.mark.parametrize(
    "metadata",
    [{"issuer": "https://other.example"}, {"token_endpoint": "ftp://x"}, {"jwks_uri": None},
     {"token_endpoint": "http://192.168.7.7/token"}],
    ids=str,
)  # fmt: skip
def test_metadata_that_lead_elsewhere_are_refused(idp, metadata):
    idp.metadata = metadata
    browser = Client()
    answer = browser.post(reverse("oidc-begin"))
    if answer.status_code == 302:
        answer = browser.get(idp.authorize(answer["Location"]))
    assert answer.status_code == 403
    assert user_of(browser) is None


def test_a_provider_that_is_away_is_said_to_be(idp, settings):
    configure(settings, oidc_issuer="http://127.0.0.1:1")
    answer = Client().post(reverse("oidc-begin"))
    assert answer.status_code == 403
    assert "cannot be reached" in answer.content.decode()


def test_an_answer_is_taken_once_and_only_in_the_browser_that_asked(idp):
    victim, attacker = Client(), Client()
    back = idp.authorize(begin(attacker))
    assert victim.get(back).status_code == 403
    assert user_of(victim) is None
    assert attacker.get(back).status_code == 302
    attacker.post(reverse("account_logout"))
    assert attacker.get(back).status_code == 403
    assert user_of(attacker) is None


def test_a_code_of_another_request_is_not_exchanged(idp):
    browser = Client()
    first, second = idp.authorize(begin(browser)), idp.authorize(begin(browser))
    code = read_query(first)["code"][0]
    state = read_query(second)["state"][0]
    answer = browser.get(reverse("oidc-callback"), {"code": code, "state": state})
    assert answer.status_code == 403
    assert user_of(browser) is None


def test_who_cancels_is_not_signed_in(idp):
    browser = Client()
    state = read_query(begin(browser))["state"][0]
    answer = browser.get(reverse("oidc-callback"), {"error": "access_denied", "state": state})
    assert "you cancelled" in answer.content.decode()


def test_the_session_is_another_one_after_the_sign_in(idp):
    browser = Client()
    address = begin(browser)
    before = browser.session.session_key
    browser.get(idp.authorize(address))
    assert user_of(browser) is not None
    assert browser.session.session_key != before


def test_roles_and_teams_follow_the_groups_at_each_sign_in(idp):
    idp.claims = {"groups": ["bosses", "cn=data,dc=example"]}
    browser, _ = sign_in(idp)
    ann = user_of(browser)
    own = MembershipFactory(user=ann).team
    assert roles.load_roles("ann") == ("admin",)
    assert teams_of(ann) == {"data": "member", own.name: "member"}
    idp.claims = {"groups": ["ops", "chiefs"]}
    sign_in(idp)
    assert roles.load_roles("ann") == ("operator",)
    assert teams_of(ann) == {"data": "admin", own.name: "member"}
    idp.claims = {"groups": ["ops"]}
    sign_in(idp)
    assert teams_of(ann) == {own.name: "member"}
    details = AuditEntry.objects.filter(action="user.groups_followed").order_by("at")
    assert [one.detail["roles"] for one in details] == [["admin"], ["operator"], ["operator"]]


def teams_of(user):
    return {one.team.name: one.role for one in user.memberships.select_related("team")}


def test_who_loses_all_groups_may_do_nothing_until_they_return(idp):
    browser, _ = sign_in(idp)
    ann = user_of(browser)
    _, token = tokens.create_token(ann, name="x", scopes=["search", "call"])
    idp.claims = {"groups": ["others"]}
    gone, answer = sign_in(idp)
    assert answer.status_code == 403
    assert "none of your groups" in answer.content.decode()
    assert user_of(gone) is None
    assert caller_for_user("ann", kind="console").scopes == frozenset()
    found = tokens.load_active_tokens([tokens.hash_token(token)])
    assert all(one.caller.scopes == frozenset() for one in found.values())
    assert browser.get(reverse("admin:index")).status_code != 200
    idp.claims = {}
    back, _ = sign_in(idp)
    assert user_of(back) == ann
    assert "call" in caller_for_user("ann", kind="console").scopes


def test_a_stranger_without_a_role_is_not_even_stored(idp):
    idp.claims = {"groups": []}
    _, answer = sign_in(idp)
    assert answer.status_code == 403
    assert not User.objects.exists()


def test_people_without_a_mapped_group_may_have_a_role_by_default(idp, settings):
    configure(settings, oidc_default_role="viewer")
    idp.claims = {"groups": None}
    sign_in(idp)
    assert roles.load_roles("ann") == ("viewer",)


def test_groups_may_come_from_the_userinfo_of_the_same_person(idp):
    idp.claims = {"groups": None}
    idp.userinfo = {"sub": "subject-1", "groups": ["bosses"]}
    sign_in(idp)
    assert roles.load_roles("ann") == ("admin",)
    cache.clear()
    idp.userinfo = {"sub": "somebody else", "groups": ["bosses"]}
    _, answer = sign_in(idp)
    assert answer.status_code == 403


def test_superusers_and_deactivated_users_do_not_come_in_this_way(idp):
    browser, _ = sign_in(idp)
    ann = user_of(browser)
    User.objects.update(is_superuser=True)
    other, answer = sign_in(idp)
    assert answer.status_code == 403
    assert user_of(other) is None
    User.objects.update(is_superuser=False, is_active=False)
    other, answer = sign_in(idp)
    assert answer.status_code == 403
    assert user_of(other) is None
    ann.refresh_from_db()
    assert not ann.is_active


def test_people_of_a_provider_cannot_give_themselves_a_password(idp):
    browser, _ = sign_in(idp)
    answer = browser.get(reverse("account_set_password"))
    assert answer.status_code == 403
    body = {"password1": "a-lasting-password-1", "password2": "a-lasting-password-1"}
    assert browser.post(reverse("account_set_password"), body).status_code == 403
    assert not user_of(browser).has_usable_password()


@pytest.mark.parametrize(
    ("claims", "trusted", "is_led_on"),
    [({}, False, False), ({"amr": ["pwd", "mfa"]}, False, True), ({}, True, True),
     ({"amr": "mfa"}, False, False)],
)  # fmt: skip
def test_the_provider_s_second_factor_counts_where_it_says_so(
    idp, settings, claims, trusted, is_led_on
):
    configure(settings, require_mfa="operator", oidc_second_factor=trusted)
    idp.claims = claims
    browser, _ = sign_in(idp)
    answer = browser.get(reverse("approvals"))
    assert (answer.status_code == 200) is is_led_on
    if not is_led_on:
        assert answer["Location"].startswith(reverse("second-factor"))


def test_a_provider_that_failed_is_not_asked_by_everybody(idp):
    idp.metadata = {"issuer": "https://other.example"}
    for _ in range(3):
        assert Client().post(reverse("oidc-begin")).status_code == 403
    assert len(idp.requests) == 1


def test_sign_ins_that_are_only_begun_are_limited_and_soon_forgotten(idp):
    answers = [Client().post(reverse("oidc-begin")) for _ in range(31)]
    assert [answer.status_code for answer in answers] == [302] * 30 + [429]
    latest = max(row.expire_date for row in Session.objects.all())
    assert latest < timezone.now() + timedelta(minutes=11)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    retention.delete_old()
    assert not Session.objects.exists()
