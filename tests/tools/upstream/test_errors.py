"""Every failure has a stable code and one line that says what to do."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tools.upstream import errors
from tools.upstream.errors import UpstreamError

ROOT = Path(__file__).resolve().parent.parent.parent.parent
AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
EXAMPLES: list[UpstreamError] = [
    errors.UpstreamError("broke down; see the log", server="s"),
    errors.UnknownServer("s"),
    errors.UnsetVariable(variable="KEY", field="env.KEY", server="s"),
    errors.NoClientFolder("/p", server="s"),
    errors.SecretsUnreadable("no key opens env.KEY; enter it anew", server="s"),
    errors.SpawnFailed("command 'x' was not found", server="s"),
    errors.ServerExited(server="s", how="exited with code 1 while starting", last_stderr="bye"),
    errors.ServerStopped("s"),
    errors.ConnectTimedOut(server="s", timeout_s=1.0, last_stderr="loading"),
    errors.CallTimedOut(server="s", what="the call to 't'", timeout_s=0.5),
    errors.SendTimedOut(server="s", what="the call to 't'", timeout_s=0.5, waiting_bytes=9),
    errors.CircuitOpen(server="s", last_error="it broke", retry_at=AT),
    errors.TooManySessions(server="s", limit=32),
    errors.TooManySessions(server="s", limit=16, is_own=True),
    errors.DefinitionChanged(server="s", tool="t"),
    errors.ProtocolViolation("speaks in tongues", server="s"),
    errors.MessageTooLarge(server="s", what="the result", limit_bytes=1_000_000),
    errors.TooManyValuesSent(server="s", limit=500_000),
    errors.UnsendableRequest("s", why="unpaired surrogate"),
    errors.InvalidAddress("the address names no host; correct its entry", server="s"),
    errors.ForbiddenAddress("redirects to http://10.0.0.1, another origin", server="s"),
    errors.ServerUnreachable("http://localhost:1 does not accept connections", server="s"),
    errors.ConnectionLost("closed the connection", server="s"),
    errors.HttpRefused(server="s", status=500, advice="see the server's log"),
    errors.SessionExpired("s"),
    errors.SignInRequired("s", why="HTTP status 401"),
    errors.SignInUnavailable("its tokens could not be renewed", server="s"),
    errors.UpstreamRefused(server="s", rpc_code=-1, rpc_message="no", data=[1]),
]


def kinds(root: type[UpstreamError]) -> set[type[UpstreamError]]:
    return {root}.union(*(kinds(sub) for sub in root.__subclasses__()))


def test_every_error_is_exemplified_here():
    assert {type(error) for error in EXAMPLES} == kinds(UpstreamError)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: error.code)
def test_a_message_is_one_line_that_names_the_server(error):
    assert "\n" not in str(error)
    assert str(error).startswith("server 's': ")
    assert error.server == "s"


def test_codes_are_unique_and_documented():
    codes = [kind.code for kind in kinds(UpstreamError)]
    assert len(codes) == len(set(codes))
    documentation = (ROOT / "docs" / "errors.md").read_text()
    assert [code for code in codes if f"`{code}`" not in documentation] == []


def test_a_silent_exit_advises_to_run_the_command_by_hand():
    assert "by hand" in str(errors.ServerExited(server="s", how="exited"))
    assert "by hand" in str(errors.ConnectTimedOut(server="s", timeout_s=1.0))
    remote = str(errors.ConnectTimedOut(server="s", timeout_s=1.0, remote=True))
    assert "by hand" not in remote
    assert "check that there is an MCP server at its address" in remote


SECRET = "KEY=hunter2"
QUOTING: list[UpstreamError] = [
    errors.UnsetVariable(variable=SECRET, field="env.KEY", server="s"),
    errors.SpawnFailed(f"command {SECRET!r} was not found", server="s"),
    errors.ServerExited(server="s", how="exited with code 1", last_stderr=SECRET),
    errors.ConnectTimedOut(server="s", timeout_s=1.0, last_stderr=SECRET),
    errors.ConnectTimedOut(server="s", timeout_s=1.0, last_stderr=SECRET, remote=True),
    errors.CircuitOpen(server="s", last_error=SECRET, retry_at=AT),
    errors.ProtocolViolation(f"answered the handshake with {SECRET}", server="s"),
    errors.InvalidAddress(f"{SECRET} is no address", server="s"),
    errors.ForbiddenAddress(f"redirects to http://{SECRET}", server="s"),
    errors.ServerUnreachable(f"http://{SECRET} does not accept connections", server="s"),
]


@pytest.mark.parametrize("error", QUOTING, ids=lambda error: error.code)
def test_only_superusers_learn_the_command_address_and_output_of_a_server(error):
    error.output = (SECRET,)
    operator, root = (
        Caller(user="ann", team=None, person=None, scopes=frozenset({scope}), kind="http")
        for scope in ("call", SCOPE_ALL)
    )
    limited = error.limit_to(operator)
    assert type(limited) is type(error)
    assert limited.code == error.code
    assert SECRET not in str(limited)
    assert str(limited).startswith("server 's': ")
    assert limited.output == ()
    for whole in (error.limit_to(root), error):
        assert SECRET in str(whole)
        assert whole.output == (SECRET,)


def test_an_error_that_quotes_nothing_of_a_server_is_told_to_everybody():
    error = errors.CallTimedOut(server="s", what="the call to 't'", timeout_s=0.5)
    operator = Caller(user="ann", team=None, person=None, scopes=frozenset({"call"}), kind="http")
    assert error.limit_to(operator) is error
