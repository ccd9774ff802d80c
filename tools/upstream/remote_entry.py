"""Validation of a remote server's entry: its address and headers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from tools.upstream.interpolate import find_variables, interpolate_text

MAX_HEADER_LENGTH = 8_000
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_TRANSPORT_HEADERS = frozenset(
    {"accept", "accept-encoding", "content-encoding", "content-length", "content-type", "expect"}
    | {"last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"}
    | {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"}
    | {"proxy-connection", "transfer-encoding", "upgrade"}
)
_LOCAL_SUFFIXES = (".localhost", ".local", ".lan", ".home.arpa")
_STAND_IN_VALUE = "1"
"""Valid as a host, as a port and as a path segment."""


def find_url_problem(url: str) -> str:
    """Return the problem with a remote server's address, or empty.

    Args:
        url: Address as written; may contain ${VAR} references, which are not resolved.

    Example:
        >>> find_url_problem("ftp://x")
        'the address must begin with http:// or https://'
        >>> find_url_problem("${BASE}/mcp")
        ''
    """
    if any(char.isspace() or not char.isprintable() for char in url):
        return "the address contains a space or control character"
    try:
        parts = urlsplit(
            interpolate_text(url, dict.fromkeys(find_variables(url), _STAND_IN_VALUE))
        )
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"the address cannot be read: {error}"
    if url.startswith("${") and not parts.scheme:
        return ""
    if parts.scheme not in {"http", "https"}:
        return "the address must begin with http:// or https://"
    if not host:
        return "the address names no host"
    credentials = parts.username is not None
    return "the address contains a user or password; send them as a header" if credentials else ""


def find_headers_problem(headers: Mapping[str, str]) -> str:
    """Return the problem with headers, or empty.

    Example:
        >>> find_headers_problem({"A B": "x"})
        "'A B' is not a valid header name"

    References:
        RFC 9110, HTTP Semantics, sections 5.1 and 5.5.
    """
    folded: set[str] = set()
    for name, value in headers.items():
        if not _FIELD_NAME.fullmatch(name):
            return f"{name!r} is not a valid header name"
        if name.lower() in folded:
            return f"header {name!r} is given twice"
        if len(value) > MAX_HEADER_LENGTH or not _FIELD_VALUE.fullmatch(value):
            return f"header {name!r} contains a line break or a control character, or is too long"
        folded.add(name.lower())
    return ""


def is_set_by_gateway(name: str) -> bool:
    """Whether a header is the transport's or concerns one connection: an entry cannot set it.

    Example:
        >>> is_set_by_gateway("Content-Type"), is_set_by_gateway("Host")
        (True, False)

    References:
        RFC 9110, HTTP Semantics, section 7.6.1; MCP 2025-11-25, Transports.
    """
    return name.lower() in _TRANSPORT_HEADERS


def is_private_host(url: str, environ: Mapping[str, str]) -> bool:
    """Whether an address is evidently on this machine or in a private network.

    No name is resolved. Link-local addresses do not count: clouds serve credentials there.

    Example:
        >>> is_private_host("http://localhost:3000/mcp", {})
        True
        >>> is_private_host("http://169.254.169.254/", {})
        False
    """
    missing = dict.fromkeys(find_variables(url), "")
    try:
        host = urlsplit(interpolate_text(url, {**missing, **environ})).hostname
    except ValueError:
        return False
    if not host:
        return False
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return (address.is_private or address.is_loopback) and not address.is_link_local
    name = host.rstrip(".").lower()
    return "." not in name or name.endswith(_LOCAL_SUFFIXES) or name == "host.docker.internal"
