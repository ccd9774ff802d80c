"""The settings of a server as people read them: without any secret."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from gateway_project.foundation.redaction import REDACTED
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tools.models import Server
from tools.store import launches, servers
from tools.upstream.written_secrets import find_in_arguments


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How a server is reached and used.

    Attributes:
        transport: `stdio`, `http` or `sse`.
        command: Executable and arguments, with secrets in them redacted; empty for a remote one.
        cwd: Working folder; empty: the default.
        url: Address without its secrets.
        variables: Names of its environment variables; None: no key opens them.
        headers: Names of the headers sent to it; None: no key opens them.
        authorization: How it is signed in to.
        session: Whether callers share a connection.
        price_per_call: US dollars; None: unknown.
        call_timeout_s: Longest that a call may take; None: the installation's limit.
        protocol_version: Negotiated MCP revision; empty: never connected.
        source: Where the entry came from.
        description: What people noted about it.
        instructions: Its own description of itself.
        created_at: When it was registered.
    """

    transport: str
    command: tuple[str, ...]
    cwd: str
    url: str
    variables: tuple[str, ...] | None
    headers: tuple[str, ...] | None
    authorization: str
    session: str
    price_per_call: Decimal | None
    call_timeout_s: float | None
    protocol_version: str
    source: str
    description: str
    instructions: str
    created_at: datetime


def load_settings(name: str, *, sealer: Sealer) -> ServerSettings:
    """Return the settings of a server.

    Args:
        name: Of the server.
        sealer: Opens its environment and headers, of which only names are returned.

    Raises:
        UnknownServerRow: If there is no such server.
    """
    row = Server.objects.defer("last_output").filter(name=name).first()
    if row is None:
        raise servers.UnknownServerRow(name)
    return ServerSettings(
        transport=row.transport,
        command=redact_command(row.command, [str(argument) for argument in row.args]),
        cwd=row.cwd,
        url=row.url,
        variables=_list_names(row, sealer, of_headers=False),
        headers=_list_names(row, sealer, of_headers=True),
        authorization=row.authorization,
        session=row.session,
        price_per_call=row.price_per_call,
        call_timeout_s=row.call_timeout_s,
        protocol_version=row.protocol_version,
        source=row.source,
        description=row.description,
        instructions=row.instructions,
        created_at=row.created_at,
    )


def redact_command(command: str, args: Sequence[str]) -> tuple[str, ...]:
    """Return a command line without the secrets in its arguments; empty without a command.

    Example:
        >>> redact_command("npx", ["-y", "server", "--api-key", "sk-0123456789abcdef0123"])
        ('npx', '-y', 'server', '--api-key', '[redacted]')
    """
    if not command:
        return ()
    shown = list(args)
    for found in reversed(find_in_arguments(args)):
        text, part = shown[found.index], found.part
        shown[found.index] = f"{text[: part.start]}{REDACTED}{text[part.end :]}"
    return (command, *shown)


def _list_names(row: Server, sealer: Sealer, *, of_headers: bool) -> tuple[str, ...] | None:
    try:
        opened: Iterable[str] = (
            servers.open_headers(row, sealer) if of_headers else launches.open_env(row, sealer)
        )
    except UnsealingFailed:
        return None
    return tuple(sorted(opened))
