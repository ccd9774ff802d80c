"""What the failures of HTTP mean for whoever called a server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from yarl import URL

from tools.upstream.errors import (
    BadAddress,
    ConnectionLost,
    ForbiddenAddress,
    ProtocolViolation,
    Unreachable,
    UpstreamError,
)
from tools.upstream.http.address import shown
from tools.upstream.http.guard import AddressRefused
from tools.upstream.network import NetworkRules, is_address


@contextmanager
def translated(server: str, url: URL) -> Iterator[None]:
    """Turn what the HTTP client raises into errors that say what to do.

    Args:
        server: Whose request it is.
        url: Where it goes; of it only the origin is shown.

    Raises:
        UpstreamError: In place of the client's own exceptions, which may quote whole addresses.
    """
    try:
        yield
    except aiohttp.ClientError as error:
        raise meaning(error, server=server, url=url) from None


def meaning(error: aiohttp.ClientError, *, server: str, url: URL) -> UpstreamError:
    """Say what an exception of the HTTP client means."""
    where = shown(url)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _not_connected(error, server=server, url=url)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Unreachable(
            f"{where} did not accept a connection in time; check that it runs and can be reached",
            server=server,
        )
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return BadAddress(f"{where} cannot be connected to; correct its entry", server=server)
    if isinstance(error, aiohttp.ClientResponseError):
        return ProtocolViolation(
            f"{where} answered with something that is not HTTP, or with headers beyond the limit; "
            "check the address",
            server=server,
        )
    if isinstance(error, aiohttp.ClientPayloadError) and _undecodable(error):
        return ProtocolViolation(
            "sent a body that is not encoded as it says; update or repair the server",
            server=server,
        )
    return ConnectionLost(
        "closed the connection before its answer was complete; the request may have been carried "
        "out all the same",
        server=server,
    )


def _not_connected(error: aiohttp.ClientConnectorError, *, server: str, url: URL) -> UpstreamError:
    where, cause = shown(url), error.os_error
    if isinstance(cause, AddressRefused):
        return forbidden(cause, server=server, url=url)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Unreachable(
            f"the name {url.host!r} cannot be resolved; check the address and the name service",
            server=server,
        )
    if isinstance(error, aiohttp.ClientSSLError):
        return Unreachable(
            f"{where} could not be trusted: {_tls(cause)}; mend its certificate, or add its "
            "authority to the system's (SSL_CERT_FILE)",
            server=server,
        )
    return Unreachable(
        f"{where} does not accept connections ({_reason(cause)}); start it, or correct its "
        "address",
        server=server,
    )


def forbidden(refused: AddressRefused, *, server: str, url: URL) -> ForbiddenAddress:
    """Say why an address is not connected to, and who can allow it."""
    host = url.host or ""
    named = (
        f"its address is {host}," if is_address(host) else f"{host} resolves to {refused.address},"
    )
    consent = (
        "an admin adds the network to FOREGATE_ALLOW_PRIVATE"
        if NetworkRules().objection(refused.address, local=True)
        else "tick 'private network' in its entry, or add the network to FOREGATE_ALLOW_PRIVATE"
    )
    return ForbiddenAddress(
        f"{named} which is {refused.what}; if it belongs to this server, {consent}", server=server
    )


def _undecodable(error: BaseException) -> bool:
    """Whether the body could not be decompressed, as opposed to cut off."""
    cause: BaseException | None = error
    while cause is not None:
        if "decode" in str(cause).lower() or "ContentEncodingError" in type(cause).__name__:
            return True
        cause = cause.__cause__
    return False


def _tls(cause: OSError) -> str:
    return str(getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or "TLS fails")


def _reason(cause: OSError) -> str:
    """Say it in the system's words; the exception's own may quote the address."""
    if isinstance(cause, asyncio.TimeoutError):
        return "timed out"
    return os.strerror(cause.errno).lower() if cause.errno else "no connection"
