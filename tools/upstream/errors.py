"""What can go wrong with an upstream server: a stable code and one line that says what to do."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import Any, ClassVar

SAID_CHARACTERS = 2_000  # of a server's own message in ours


class UpstreamError(Exception):
    """Root of every failure of an upstream server.

    Attributes:
        code: Stable word for programs; listed in docs/upstreams.md.
        server: Name of the server, empty where none is involved.
        is_unsent: Whether it is certain that nothing of the request was sent.
    """

    code: ClassVar[str] = "upstream_error"
    is_unsent: bool = False

    def __init__(self, message: str, *, server: str = "") -> None:
        super().__init__(f"server {server!r}: {message}" if server else message)
        self.server = server


class UnknownServer(UpstreamError):
    """No server of that name is known to the pool."""

    code = "unknown_server"

    def __init__(self, server: str) -> None:
        super().__init__(
            "is not registered or not enabled; see `manage.py status` for the servers there are",
            server=server,
        )


class UnsetVariable(UpstreamError):
    """A server's entry refers to an environment variable that is not set."""

    code = "unset_variable"

    def __init__(self, *, variable: str, field: str, server: str = "") -> None:
        super().__init__(
            f"{field} refers to ${{{variable}}}, which is not set; set {variable} in the "
            f"gateway's environment, or write ${{{variable}:-default}}",
            server=server,
        )
        self.variable = variable
        self.field = field


class SpawnFailed(UpstreamError):
    """The server's process could not be started as configured."""

    code = "spawn_failed"


class ServerExited(UpstreamError):
    """The server's process ended, or closed its pipes, while it was needed."""

    code = "server_exited"

    def __init__(
        self, *, server: str, how: str, last_stderr: str = "", exit_code: int | None = None
    ) -> None:
        said = (
            f"its last words: {last_stderr}"
            if last_stderr
            else "it said nothing on stderr; run its command by hand to see why"
        )
        super().__init__(f"{how}; {said}", server=server)
        self.exit_code = exit_code
        self.last_stderr = last_stderr


class ServerStopped(UpstreamError):
    """The gateway itself stopped the server: restarted, replaced, removed, or shutting down."""

    code = "server_stopped"

    def __init__(self, server: str) -> None:
        super().__init__("was stopped by the gateway; call again", server=server)


class ConnectTimedOut(UpstreamError):
    """The server did not finish the handshake in time."""

    code = "connect_timed_out"

    def __init__(
        self, *, server: str, timeout_s: float, last_stderr: str = "", remote: bool = False
    ) -> None:
        since = "" if remote else " of its start"
        words = last_stderr if remote else f"its last words: {last_stderr}"
        said = f" ({words})" if last_stderr else ""
        advice = (
            "check that there is an MCP server at its address"
            if remote
            else "run its command by hand"
        )
        super().__init__(
            f"did not answer within {timeout_s:g} s{since}{said}; {advice}, or raise its connect "
            "timeout",
            server=server,
        )
        self.timeout_s = timeout_s


class CallTimedOut(UpstreamError):
    """A request was not answered in time and has been cancelled upstream."""

    code = "call_timed_out"

    def __init__(self, *, server: str, what: str, timeout_s: float) -> None:
        super().__init__(
            f"{what} was not answered within {timeout_s:g} s and was cancelled; "
            "raise the server's call timeout if it needs longer",
            server=server,
        )
        self.timeout_s = timeout_s


class NotTaken(UpstreamError):
    """The server still had not read what was sent before when a request's time was up."""

    code = "not_taken"
    is_unsent = True

    def __init__(self, *, server: str, what: str, timeout_s: float, waiting_bytes: int) -> None:
        super().__init__(
            f"{what} was not sent within {timeout_s:g} s, since it does not read its input: "
            f"{waiting_bytes:,} bytes of requests before it wait; call again once it is done with "
            "those, or restart it",
            server=server,
        )


class CircuitOpen(UpstreamError):
    """The server failed too often in a row; it is left alone for a while."""

    code = "circuit_open"

    def __init__(self, *, server: str, last_error: str, retry_at: datetime) -> None:
        super().__init__(
            f"is left alone after repeated failures until {retry_at:%H:%M:%S %Z}, "
            f"or until it is restarted; last error: {last_error}",
            server=server,
        )
        self.last_error = last_error
        self.retry_at = retry_at


class ProtocolViolation(UpstreamError):
    """The server sent something that is not MCP."""

    code = "protocol_violation"


class MessageTooLarge(UpstreamError):
    """A message is larger than the gateway accepts."""

    code = "message_too_large"

    def __init__(
        self, *, server: str, what: str, limit_bytes: int, is_unsent: bool = False
    ) -> None:
        advice = "nothing was sent; pass less, or a file" if is_unsent else "ask it for less"
        super().__init__(
            f"{what} is larger than {limit_bytes:,} bytes; {advice}, or raise the limit",
            server=server,
        )
        self.limit_bytes = limit_bytes
        self.is_unsent = is_unsent


class Unsendable(UpstreamError):
    """A request cannot be written as JSON."""

    code = "unsendable"
    is_unsent = True

    def __init__(self, server: str, *, why: str) -> None:
        super().__init__(
            f"the request cannot be written as JSON and was not sent ({why}); send text without "
            "halves of surrogate pairs, and values that are not nested so deeply",
            server=server,
        )


class UpstreamRefused(UpstreamError):
    """The server answered with a JSON-RPC error, kept here as it came."""

    code = "upstream_refused"

    def __init__(self, *, server: str, rpc_code: int, rpc_message: str, data: Any = None) -> None:
        said = rpc_message
        if len(said) > SAID_CHARACTERS:
            said = f"{said[:SAID_CHARACTERS]}…"
        super().__init__(f"answered with error {rpc_code}: {said}", server=server)
        self.rpc_code = rpc_code
        self.rpc_message = rpc_message
        self.data = data


class TooManySessions(UpstreamError):
    """All connections that callers may have to a server of their own are taken and in use."""

    code = "too_many_sessions"

    def __init__(self, *, server: str, limit: int) -> None:
        super().__init__(
            f"has {limit} callers with a connection of their own, each in the middle of a call; "
            "try again when one of them is done",
            server=server,
        )


class DefinitionChanged(UpstreamError):
    """The server defines the tool otherwise than what was approved."""

    code = "definition_changed"

    def __init__(self, *, server: str, tool: str) -> None:
        super().__init__(
            f"{tool!r} is not what was approved: its definition changed; an admin must look at "
            "the difference and approve it, in the console or by `manage.py approve_tools`",
            server=server,
        )


class BadAddress(UpstreamError):
    """A remote server's entry holds an address or headers that cannot be used."""

    code = "bad_address"


class ForbiddenAddress(UpstreamError):
    """A remote server, or a redirect, leads to an address that the gateway does not connect to."""

    code = "forbidden_address"


class Unreachable(UpstreamError):
    """No connection to a remote server could be made; nothing was sent."""

    code = "unreachable"


class ConnectionLost(UpstreamError):
    """A remote server took a request and ended the connection before it had answered."""

    code = "connection_lost"


class HttpRefused(UpstreamError):
    """A remote server answered with a status of HTTP that stands for a failure.

    Attributes:
        status: The status.
    """

    code = "http_refused"

    def __init__(self, *, server: str, status: int, advice: str) -> None:
        super().__init__(f"answered with HTTP status {status}; {advice}", server=server)
        self.status = status


class SessionExpired(UpstreamError):
    """A remote server no longer knows the session; it did nothing with the request."""

    code = "session_expired"

    def __init__(self, server: str) -> None:
        super().__init__(
            "ended the session and did not carry out the call; call again", server=server
        )


class SignInRequired(UpstreamError):
    """A remote server does not serve the caller without a sign-in, or with the one there is."""

    code = "sign_in_required"

    def __init__(self, server: str, *, why: str = "", user: str = "") -> None:
        reason = f" ({why})" if why else ""
        whose = f" --user {shlex.quote(user)}" if user else ""
        super().__init__(
            f"needs a sign-in{reason}; run `manage.py sign_in {shlex.quote(server)}{whose}`, or "
            "sign in on its page in the console",
            server=server,
        )


class SignInUnavailable(UpstreamError):
    """Tokens have to be renewed and cannot be at the moment; the sign-in itself stands."""

    code = "sign_in_unavailable"
