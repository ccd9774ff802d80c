"""Translates failures of the HTTP client into errors with advice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from yarl import URL

from tools.upstream.errors import (
    ConnectionLost,
    ForbiddenAddress,
    InvalidAddress,
    ProtocolViolation,
    ServerUnreachable,
    UpstreamError,
)
from tools.upstream.http.address import redact_address
from tools.upstream.network import AddressRefused, NetworkRules, is_address

PROXY_SIGN_IN = 407


@contextmanager
def translate_errors(server: str, url: URL) -> Iterator[None]:
    """Translate exceptions of the HTTP client into upstream errors.

    Args:
        server: Name of the server.
        url: Address of the request; errors show only its origin.

    Raises:
        UpstreamError: Instead of the client's own exceptions, which may quote whole addresses.
    """
    try:
        yield
    except aiohttp.ClientError as error:
        raise translate_client_error(error, server=server, url=url) from None


def translate_client_error(error: aiohttp.ClientError, *, server: str, url: URL) -> UpstreamError:
    """Return the upstream error for an exception of the HTTP client."""
    where = redact_address(url)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _make_connect_error(error, server=server, url=url)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ServerUnreachable(
            f"{where} did not accept a connection in time; check that it runs and can be reached",
            server=server,
        )
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return InvalidAddress(f"{where} cannot be connected to; correct its entry", server=server)
    if isinstance(error, aiohttp.ClientResponseError):
        return _make_response_error(error, server=server, where=where)
    if isinstance(error, aiohttp.ClientPayloadError) and _is_undecodable(error):
        return ProtocolViolation(
            "sent a body that does not match its declared encoding; update or repair the server",
            server=server,
        )
    return ConnectionLost(
        "closed the connection before its answer was complete; the request may still have been "
        "carried out",
        server=server,
    )


def _make_response_error(
    error: aiohttp.ClientResponseError, *, server: str, where: str
) -> UpstreamError:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return ServerUnreachable(
            f"the machine's proxy does not connect to {where} (status {error.status}); "
            f"{advise_proxy(error.status)}",
            server=server,
        )
    return ProtocolViolation(
        f"{where} answered with something that is not HTTP, or with headers beyond the limit; "
        "check the address",
        server=server,
    )


def advise_proxy(status: int) -> str:
    """Return what to do about a refusal of the proxy."""
    if status == PROXY_SIGN_IN:
        return "put its user and password into HTTP_PROXY and HTTPS_PROXY (http://user:pw@host)"
    return "ask whoever runs it to allow that host, or name the host in NO_PROXY"


def _make_connect_error(
    error: aiohttp.ClientConnectorError, *, server: str, url: URL
) -> UpstreamError:
    where, cause = redact_address(url), error.os_error
    if error.host != url.raw_host or isinstance(error, aiohttp.ClientProxyConnectionError):
        why = str(cause) if isinstance(cause, AddressRefused) else _system_reason(cause)
        return ServerUnreachable(
            f"the proxy {error.host}:{error.port}, through which {where} is reached, cannot be "
            f"connected to ({why}); correct HTTP_PROXY or HTTPS_PROXY, or name the host in "
            "NO_PROXY",
            server=server,
        )
    if isinstance(cause, AddressRefused):
        return make_forbidden_error(cause, server=server, url=url)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return ServerUnreachable(
            f"the name {url.host!r} cannot be resolved; check the address and the name service",
            server=server,
        )
    if isinstance(error, aiohttp.ClientSSLError):
        return ServerUnreachable(
            f"{where} could not be trusted: {_explain_tls(cause)}; fix its certificate, or add "
            "its authority to the system's (SSL_CERT_FILE)",
            server=server,
        )
    return ServerUnreachable(
        f"{where} does not accept connections ({_system_reason(cause)}); start it, or correct its "
        "address",
        server=server,
    )


def make_forbidden_error(refused: AddressRefused, *, server: str, url: URL) -> ForbiddenAddress:
    """Return the error for a refused address, with how to allow it."""
    host = url.host or ""
    subject = (
        f"its address is {host}," if is_address(host) else f"{host} resolves to {refused.address},"
    )
    consent = (
        "an admin adds the network to FOREGATE_ALLOW_PRIVATE"
        if NetworkRules().find_objection(refused.address, local=True)
        else "tick 'private network' in its entry, or add the network to FOREGATE_ALLOW_PRIVATE"
    )
    return ForbiddenAddress(
        f"{subject} which is {refused.what}; if it belongs to this server, {consent}",
        server=server,
    )


def _is_undecodable(error: BaseException) -> bool:
    """Whether the body could not be decompressed, as opposed to truncated."""
    cause: BaseException | None = error
    while cause is not None:
        if "decode" in str(cause).lower() or "ContentEncodingError" in type(cause).__name__:
            return True
        cause = cause.__cause__
    return False


def _explain_tls(cause: OSError) -> str:
    return str(getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or "TLS fails")


def _system_reason(cause: OSError) -> str:
    """Return the system's message; the exception's own may quote the address."""
    if isinstance(cause, asyncio.TimeoutError):
        return "timed out"
    return os.strerror(cause.errno).lower() if cause.errno else "no connection"
