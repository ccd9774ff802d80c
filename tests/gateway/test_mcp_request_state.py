import pytest
from cryptography.fernet import Fernet

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.mcp import request_state
from gateway_project.mcp.request_state import InvalidRequestState, RequestRound, StateSubject

SEALER = Sealer([Fernet.generate_key()])
ADA = Caller(user="ada", team=1, person=None, scopes=frozenset(), kind="http")


def subject(*, caller=ADA, method="tools/call", target="git:log", **params):
    given = {"name": "log", "arguments": {"b": 1, "a": [2]}} | params
    return StateSubject(caller=caller, method=method, params=given, find_target=lambda: target)


def test_the_next_round_of_a_request_restores_its_state():
    standing = RequestRound(upstream_state="theirs", parked_call="p", has_answers=False)
    token = request_state.seal_state(SEALER, subject(), standing)
    later = subject(
        arguments={"a": [2], "b": 1}, requestState=token, inputResponses={}, _meta={"x": 1}
    )
    assert request_state.unseal_state(SEALER, later, token) == standing


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (
            subject(
                caller=Caller(user="bo", team=1, person=None, scopes=frozenset(), kind="http")
            ),
            "caller",
        ),
        (
            subject(
                caller=Caller(user="ada", team=2, person=None, scopes=frozenset(), kind="http")
            ),
            "caller",
        ),
        (subject(method="prompts/get"), "another request"),
        (subject(target="git:other"), "another request"),
        (subject(arguments={"a": [3], "b": 1}), "another request"),
        (subject(name="x"), "another request"),
    ],
)
def test_request_state_is_valid_for_its_caller_and_request_only(other, reason):
    token = request_state.seal_state(SEALER, subject(), RequestRound())
    with pytest.raises(InvalidRequestState, match=reason):
        request_state.unseal_state(SEALER, other, token)


@pytest.mark.parametrize(
    "token",
    ["", "x", "\ud800", 5, None, {}, SEALER.seal({"purpose": "other"}), SEALER.seal([1])],
    ids=range(8),
)
def test_forged_request_state_is_refused(token):
    with pytest.raises(InvalidRequestState, match="not issued by this gateway"):
        request_state.unseal_state(SEALER, subject(), token)


def test_it_is_refused_when_it_is_old(monkeypatch):
    token = request_state.seal_state(SEALER, subject(), RequestRound())
    now = request_state.time.time()
    monkeypatch.setattr(request_state.time, "time", lambda: now + 601)
    with pytest.raises(InvalidRequestState, match="expired"):
        request_state.unseal_state(SEALER, subject(), token)
