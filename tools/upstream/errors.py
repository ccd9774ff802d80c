"""Errors of upstream servers: each has a stable code and a one-line message with advice."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.redaction import Redactor
from gateway_project.foundation.user_error import UserError
from tools.server_condition import limit_error

MAX_QUOTED_CHARS = 2_000  # of a server's message quoted in ours


class UpstreamError(UserError):
    """Root of every failure of an upstream server.

    Attributes:
        code: Stable machine-readable code; listed in docs/errors.md.
        server: Name of the server, empty if none is involved.
        is_unsent: Whether the request was certainly not sent, or refused unread.
        output: The server's last output outside the protocol, if it may explain the error.
        public_reason: The reason without the server's command, address and output, for callers
            other than superusers; empty: the message quotes none of these.
    """

    code = "upstream_error"
    is_unsent: bool = False
    output: tuple[str, ...] = ()
    public_reason: str = ""

    def __init__(self, message: str, *, server: str = "") -> None:
        super().__init__(f"server {server!r}: {message}" if server else message)
        self.server = server

    def redact(self, redactor: Redactor) -> None:
        """Remove a server's secrets from the message."""
        self.args = (redactor.redact(str(self)),)

    def limit_to(self, caller: Caller) -> Self:
        """Return the error as a caller may know it.

        An error is shared by all who wait for one start of a server, so this one stays as it is.
        """
        public = f"server {self.server!r}: {self.public_reason}; superusers see more"
        message = limit_error(str(self), caller, public=public)
        if not self.public_reason or message == str(self):
            return self
        limited = type(self).__new__(type(self))
        limited.__dict__ |= {**self.__dict__, "output": ()}
        limited.args = (message,)
        return limited


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
    public_reason = "its entry refers to a variable that is not set"

    def __init__(self, *, variable: str, field: str, server: str = "") -> None:
        super().__init__(
            f"{field} refers to ${{{variable}}}, which is not set; set {variable} in the "
            f"gateway's environment, or write ${{{variable}:-default}}",
            server=server,
        )
        self.variable = variable
        self.field = field


class NoClientFolder(UpstreamError):
    """A server works in the client's folder, and the caller has none."""

    code = "no_client_folder"

    def __init__(self, folder: str, *, server: str) -> None:
        problem = f"{folder}, is not on this machine" if folder else "is not known"
        super().__init__(
            f"works in the folder of the client (`${{client:folder}}`), which {problem}; call it "
            "from a client that starts Foregate itself in a project's folder",
            server=server,
        )
        self.public_reason = "it works in the client's folder, and this client has none"


class SecretsUnreadable(UpstreamError):
    """No key of this installation opens the secrets of the server's entry."""

    code = "sealed"


class SpawnFailed(UpstreamError):
    """The server's process could not be started as configured."""

    code = "spawn_failed"
    public_reason = "it cannot be started"


class ServerExited(UpstreamError):
    """The server's process ended, or closed its pipes, while it was needed."""

    code = "server_exited"

    def __init__(
        self, *, server: str, how: str, last_stderr: str = "", exit_code: int | None = None
    ) -> None:
        output = (
            f"its last output: {last_stderr}"
            if last_stderr
            else "it wrote nothing to stderr; run its command by hand to see why"
        )
        super().__init__(f"{how}; {output}", server=server)
        self.public_reason = how
        self.exit_code = exit_code


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
        detail = last_stderr if remote else f"its last output: {last_stderr}"
        detail = f" ({detail})" if last_stderr else ""
        advice = (
            "check that there is an MCP server at its address"
            if remote
            else "run its command by hand"
        )
        self.public_reason = f"did not answer within {timeout_s:g} s{since}"
        super().__init__(
            f"{self.public_reason}{detail}; {advice}, or raise its connect timeout", server=server
        )
        self.timeout_s = timeout_s


class CallTimedOut(UpstreamError):
    """A request was not answered in time and has been cancelled upstream.

    Attributes:
        timeout_s: Seconds that it had.
        is_call: Whether it was a call of a tool, for which its caller may allow more time.
    """

    code = "call_timed_out"

    def __init__(self, *, server: str, what: str, timeout_s: float, is_call: bool = False) -> None:
        by_caller = "pass timeout_s to call_tool or in a task, or " if is_call else ""
        super().__init__(
            f"{what} was not answered within {timeout_s:g} s and was cancelled; if it needs "
            f"longer, {by_caller}raise the server's call timeout",
            server=server,
        )
        self.timeout_s = timeout_s
        self.is_call = is_call


class SendTimedOut(UpstreamError):
    """A request timed out before sending because the server had not read earlier input."""

    code = "not_taken"
    is_unsent = True

    def __init__(self, *, server: str, what: str, timeout_s: float, waiting_bytes: int) -> None:
        super().__init__(
            f"{what} was not sent within {timeout_s:g} s because the server does not read its "
            f"input: {waiting_bytes:,} bytes of earlier requests are waiting; call again once "
            "it has read those, or restart it",
            server=server,
        )


class CircuitOpen(UpstreamError):
    """The server's circuit is open after repeated failures."""

    code = "circuit_open"

    def __init__(self, *, server: str, last_error: str, retry_at: datetime) -> None:
        self.public_reason = (
            f"is suspended after repeated failures until {retry_at:%H:%M:%S %Z}, or until it is "
            "restarted"
        )
        super().__init__(f"{self.public_reason}; last error: {last_error}", server=server)
        self.retry_at = retry_at


class ProtocolViolation(UpstreamError):
    """The server sent something that is not MCP."""

    code = "protocol_violation"
    public_reason = "it sent something that is not MCP"


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


class TooManyValuesSent(UpstreamError):
    """A message holds more values than the gateway reads."""

    code = "too_many_values"

    def __init__(self, *, server: str, limit: int) -> None:
        super().__init__(
            f"sent an answer with more than {limit:,} values; ask it for less",
            server=server,
        )
        self.limit = limit


class UnsendableRequest(UpstreamError):
    """A request cannot be written as JSON."""

    code = "unsendable"
    is_unsent = True

    def __init__(self, server: str, *, why: str) -> None:
        super().__init__(
            f"the request cannot be written as JSON and was not sent ({why}); send text without "
            "unpaired surrogates, and less deeply nested values",
            server=server,
        )


class UpstreamRefused(UpstreamError):
    """The server answered with a JSON-RPC error, kept unchanged in the attributes."""

    code = "upstream_refused"

    def __init__(self, *, server: str, rpc_code: int, rpc_message: str, data: Any = None) -> None:
        quoted = rpc_message
        if len(quoted) > MAX_QUOTED_CHARS:
            quoted = f"{quoted[:MAX_QUOTED_CHARS]}…"
        super().__init__(f"answered with error {rpc_code}: {quoted}", server=server)
        self.rpc_code = rpc_code
        self.rpc_message = rpc_message
        self.data = data


class TooManySessions(UpstreamError):
    """All per-caller connections that a server may have, or a user's share, are in use."""

    code = "too_many_sessions"

    def __init__(self, *, server: str, limit: int, is_own: bool = False) -> None:
        whose = "clients or runs of yours" if is_own else "callers"
        super().__init__(
            f"has {limit} {whose} with their own connection, each in the middle of a call; try "
            "again when one of them is done",
            server=server,
        )


class DefinitionChanged(UpstreamError):
    """The server's definition of the tool differs from the approved one."""

    code = "definition_changed"

    def __init__(self, *, server: str, tool: str, places: Sequence[str] = ()) -> None:
        where = f" at {', '.join(places)}" if places else ""
        super().__init__(
            f"{tool!r} is not as approved: its definition changed{where}; an admin must review "
            "the change and approve it, in the console or with `manage.py approve_tools`",
            server=server,
        )


class InvalidAddress(UpstreamError):
    """A remote server's entry holds an address or headers that cannot be used."""

    code = "bad_address"
    public_reason = "its address cannot be used"


class ForbiddenAddress(UpstreamError):
    """A remote server, or a redirect, leads to an address that the gateway does not connect to."""

    code = "forbidden_address"
    public_reason = "it is at an address that the gateway does not connect to"


class ServerUnreachable(UpstreamError):
    """No connection to a remote server could be made; nothing was sent."""

    code = "unreachable"
    public_reason = "it cannot be reached"


class ConnectionLost(UpstreamError):
    """A remote server accepted a request and closed the connection before answering."""

    code = "connection_lost"


class HttpRefused(UpstreamError):
    """A remote server answered with an HTTP error status.

    Attributes:
        status: HTTP status code.
    """

    code = "http_refused"

    def __init__(self, *, server: str, status: int, advice: str) -> None:
        super().__init__(f"answered with HTTP status {status}; {advice}", server=server)
        self.status = status


class SessionExpired(UpstreamError):
    """A remote server no longer knows the session.

    Args:
        server: Its name.
        status: The HTTP status of a failure that leaves open what became of the request; 0: it
            was refused.
    """

    code = "session_expired"

    def __init__(self, server: str, *, status: int = 0) -> None:
        outcome = (
            f"answered with HTTP status {status}, so the call may have been carried out; check, "
            "then call again"
            if status
            else "did not carry out the call; call again"
        )
        super().__init__(f"no longer knows the session and {outcome}", server=server)
        self.is_unsent = not status


class SignInRequired(UpstreamError):
    """A remote server requires a sign-in, or rejects the current one."""

    code = "sign_in_required"

    def __init__(self, server: str, *, why: str = "", user: str = "") -> None:
        reason = f" ({why})" if why else ""
        option = f" --user {shlex.quote(user)}" if user else ""
        super().__init__(
            f"needs a sign-in{reason}; run `manage.py sign_in {shlex.quote(server)}{option}`, or "
            "sign in on its page in the console",
            server=server,
        )


class SignInUnavailable(UpstreamError):
    """Tokens must be renewed but temporarily cannot be; the sign-in itself remains valid."""

    code = "sign_in_unavailable"
