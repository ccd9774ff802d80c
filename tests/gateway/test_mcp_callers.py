"""To which caller and session a request without HTTP belongs."""

from types import SimpleNamespace

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.mcp import callers
from gateway_project.mcp.client_state import ClientState
from gateway_project.readiness import Gateway

OWN = Caller(user="ann", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
ATTACHED = Caller(user="bob", team=None, person=None, scopes=frozenset(), kind="stdio")
GATEWAY = Gateway(effects=None, caller=OWN)
STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"


def request(version, connection=None):
    lifespan = SimpleNamespace(client=connection or ClientState())
    return SimpleNamespace(
        request=None, protocol_version=version, params={}, lifespan_context=lifespan
    )


def test_the_own_client_is_one_session_in_the_stateless_era():
    first, second = (callers.caller_of(request(STATELESS), GATEWAY) for _ in range(2))
    assert first == OWN
    assert first.session == second.session != ""


def test_attached_clients_are_sessions_of_their_own():
    own = callers.caller_of(request(STATELESS), GATEWAY)
    found = []
    for _ in range(2):
        with callers.bind_connection_caller(lambda: ATTACHED):
            requests = [callers.caller_of(request(STATELESS), GATEWAY) for _ in range(2)]
        assert requests == [ATTACHED, ATTACHED]
        assert requests[0].session == requests[1].session
        found.append(requests[0].session)
    assert len({own.session, *found}) == 3


def test_a_connection_of_the_handshake_era_is_a_session():
    first = request(HANDSHAKE)
    same, other = request(HANDSHAKE, first.lifespan_context.client), request(HANDSHAKE)
    sessions = [callers.caller_of(one, GATEWAY).session for one in (first, same, other)]
    assert sessions[0] == sessions[1] != sessions[2]
    with callers.bind_connection_caller(lambda: ATTACHED):
        assert callers.caller_of(first, GATEWAY).session == sessions[0]
