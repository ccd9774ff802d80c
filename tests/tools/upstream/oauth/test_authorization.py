from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.tools.upstream.oauth.conftest import ALL, REDIRECT
from tools.upstream.oauth import authorization
from tools.upstream.oauth.challenge import BearerChallenge
from tools.upstream.oauth.discovery import DiscoveredProtection
from tools.upstream.oauth.failures import AuthorizationRefused, SignInFailed
from tools.upstream.oauth.values import AuthorizationServer, OAuthClient, OAuthTokens, SignIn

SERVER = AuthorizationServer(
    issuer="https://as.example",
    authorization_endpoint="https://as.example/authorize?tenant=1",
    token_endpoint="https://as.example/token",
)
FOUND = DiscoveredProtection(resource="https://mcp.example/mcp", server=SERVER, scopes=("a", "b"))
FORMER = SignIn(
    server=SERVER,
    client=OAuthClient(client_id="c"),
    resource=FOUND.resource,
    tokens=OAuthTokens(access="t"),
    asked="old",
    wanted="more",
)


def begin(found=FOUND, scope="a"):
    return authorization.begin_sign_in(
        ALL, found, client=OAuthClient(client_id="c"), redirect_uri=REDIRECT, scope=scope
    )


@pytest.mark.parametrize(
    ("challenge", "entered", "found", "scope"),
    [
        ("x y", "", FOUND, "x y"),
        ("x", "mine", FOUND, "x mine"),
        ("", "mine", FOUND, "mine"),
        ("", "", FOUND, "a b"),
        ("", "", replace(FOUND, scopes=()), ""),
        ("", "", replace(FOUND, scopes=None), ""),
    ],
)
def test_scopes_come_from_the_challenge_and_the_entry_or_else_from_the_resource(
    challenge, entered, found, scope
):
    said = BearerChallenge(scope=challenge)
    assert authorization.choose_scope(found, challenge=said, entered=entered) == scope


def test_a_later_sign_in_keeps_its_scopes_and_adds_those_demanded_since():
    scope = authorization.choose_scope(
        FOUND, challenge=BearerChallenge(scope="a"), entered="", former=FORMER
    )
    assert scope == "old more a"


def test_the_offline_scope_is_requested_where_the_server_supports_it():
    found = replace(FOUND, server=replace(SERVER, scopes=("a", "offline_access")))
    scope = authorization.choose_scope(found, challenge=BearerChallenge(), entered="")
    assert scope == "a b offline_access"
    _, _, address = begin(found, scope)
    assert parse_qs(urlsplit(address).query)["prompt"] == ["consent"]


def test_the_authorization_request_has_all_required_parameters():
    attempt, state, address = begin()
    parts = urlsplit(address)
    query = {name: value for name, (value,) in parse_qs(parts.query).items()}
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == "https://as.example/authorize"
    assert query == {
        "tenant": "1",
        "response_type": "code",
        "client_id": "c",
        "redirect_uri": REDIRECT,
        "state": state,
        "code_challenge": authorization.pkce_challenge(attempt.verifier),
        "code_challenge_method": "S256",
        "resource": "https://mcp.example/mcp",
        "scope": "a",
    }
    assert len(attempt.verifier) >= 43
    assert attempt.verifier not in address


def test_no_two_attempts_share_a_secret():
    assert begin()[1] != begin()[1]
    assert begin()[0].verifier != begin()[0].verifier


@pytest.mark.parametrize("says_iss", [True, False])
def test_a_code_of_the_right_authorization_server_is_taken(says_iss):
    attempt, state, _ = begin(replace(FOUND, server=replace(SERVER, says_iss=says_iss)))
    answer = {"state": state, "code": "42", "iss": SERVER.issuer}
    assert authorization.read_code(attempt, answer) == "42"


def test_the_issuer_is_optional_unless_the_server_declares_it():
    assert authorization.read_code(begin()[0], {"code": "42"}) == "42"


@pytest.mark.parametrize(
    ("says_iss", "iss"),
    [
        (True, None),
        (True, "https://evil.example"),
        (False, "https://evil.example"),
        (True, "https://as.example/"),
        (True, "https://AS.example"),
        (True, "https://as.example:443"),
        (True, ""),
    ],
)
@pytest.mark.parametrize("answer", [{"code": "42"}, {"error": "attacker's words"}])
def test_a_response_of_another_authorization_server_is_dropped_unread(says_iss, iss, answer):
    attempt, _, _ = begin(replace(FOUND, server=replace(SERVER, says_iss=says_iss)))
    given = answer if iss is None else {**answer, "iss": iss}
    with pytest.raises(SignInFailed, match="dropped") as caught:
        authorization.read_code(attempt, given)
    assert "attacker" not in str(caught.value)


def test_a_refusal_is_reported_without_terminal_escapes():
    answer = {"error": "access_denied", "error_description": "no\x1b[2J\n\u200bway"}
    with pytest.raises(AuthorizationRefused, match=r"access_denied: no\[2J way") as caught:
        authorization.read_code(begin()[0], answer)
    assert caught.value.error == "access_denied"


def test_a_response_without_a_code_fails():
    with pytest.raises(SignInFailed, match="no code"):
        authorization.read_code(begin()[0], {"state": "x"})
