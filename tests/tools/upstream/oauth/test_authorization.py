from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.tools.upstream.oauth.conftest import ALL, REDIRECT
from tools.upstream.oauth import authorization
from tools.upstream.oauth.challenge import Challenge
from tools.upstream.oauth.discovery import Found
from tools.upstream.oauth.failures import Refused, SignInFailed
from tools.upstream.oauth.values import AuthorizationServer, Client, SignIn, Tokens

SERVER = AuthorizationServer(
    issuer="https://as.example",
    authorization_endpoint="https://as.example/authorize?tenant=1",
    token_endpoint="https://as.example/token",
)
FOUND = Found(resource="https://mcp.example/mcp", server=SERVER, scopes=("a", "b"))
FORMER = SignIn(
    server=SERVER,
    client=Client(client_id="c"),
    resource=FOUND.resource,
    tokens=Tokens(access="t"),
    asked="old",
    wanted="more",
)


def begin(found=FOUND, scope="a"):
    return authorization.begin(
        ALL, found, client=Client(client_id="c"), redirect_uri=REDIRECT, scope=scope
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
def test_scopes_are_those_of_the_challenge_then_those_entered_then_those_of_the_resource(
    challenge, entered, found, scope
):
    said = Challenge(scope=challenge)
    assert authorization.scope_for(found, challenge=said, entered=entered) == scope


def test_a_later_sign_in_keeps_what_was_asked_for_and_adds_what_the_server_wanted_since():
    scope = authorization.scope_for(
        FOUND, challenge=Challenge(scope="a"), entered="", former=FORMER
    )
    assert scope == "old more a"


def test_a_refresh_token_is_asked_for_where_that_takes_a_scope():
    found = replace(FOUND, server=replace(SERVER, scopes=("a", "offline_access")))
    scope = authorization.scope_for(found, challenge=Challenge(), entered="")
    assert scope == "a b offline_access"
    _, _, address = begin(found, scope)
    assert parse_qs(urlsplit(address).query)["prompt"] == ["consent"]


def test_the_browser_is_sent_with_all_that_the_protocol_demands():
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
        "code_challenge": authorization.challenge_of(attempt.verifier),
        "code_challenge_method": "S256",
        "resource": "https://mcp.example/mcp",
        "scope": "a",
    }
    assert len(attempt.verifier) >= 43
    assert attempt.verifier not in address


def test_no_two_attempts_share_a_secret():
    assert begin()[1] != begin()[1]
    assert begin()[0].verifier != begin()[0].verifier


def test_a_scope_that_nobody_names_is_not_sent():
    assert "scope" not in parse_qs(urlsplit(begin(scope="")[2]).query)


@pytest.mark.parametrize("says_iss", [True, False])
def test_a_code_of_the_right_authorization_server_is_taken(says_iss):
    attempt, state, _ = begin(replace(FOUND, server=replace(SERVER, says_iss=says_iss)))
    answer = {"state": state, "code": "42", "iss": SERVER.issuer}
    assert authorization.code_of(attempt, answer) == "42"


def test_one_that_never_promised_to_name_itself_need_not():
    assert authorization.code_of(begin()[0], {"code": "42"}) == "42"


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
        authorization.code_of(attempt, given)
    assert "attacker" not in str(caught.value)


def test_a_refusal_is_told_without_what_a_terminal_would_obey():
    answer = {"error": "access_denied", "error_description": "no\x1b[2J\n\u200bway"}
    with pytest.raises(Refused, match=r"access_denied: no\[2J way") as caught:
        authorization.code_of(begin()[0], answer)
    assert caught.value.error == "access_denied"


def test_a_response_without_a_code_is_none():
    with pytest.raises(SignInFailed, match="no code"):
        authorization.code_of(begin()[0], {"state": "x"})
