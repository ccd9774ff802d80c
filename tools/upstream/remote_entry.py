"""Rules for what a remote server's entry holds: its address and the headers sent to it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from tools.upstream.interpolate import interpolate, variables

MAX_HEADER_LENGTH = 8_000
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LOCAL_SUFFIXES = (".localhost", ".local", ".lan", ".home.arpa")
_STAND_IN = "1"
"""Reads as a host, a port and a piece of a path alike."""
_SECRET_NAME = re.compile(r"key|token|secret|pass|auth|sig", re.IGNORECASE)


def url_problem(url: str) -> str:
    """Say what is wrong with a remote server's address; empty if nothing is.

    Args:
        url: Address as written; may hold ${VAR}, whose values are not looked at.

    Example:
        >>> url_problem("ftp://x")
        'the address must begin with http:// or https://'
        >>> url_problem("${BASE}/mcp")
        ''
    """
    if any(char.isspace() or not char.isprintable() for char in url):
        return "the address holds a space or control character"
    try:
        parts = urlsplit(interpolate(url, dict.fromkeys(variables(url), _STAND_IN)))
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
    return "the address holds a user or password; send them as a header" if credentials else ""


def headers_problem(headers: Mapping[str, str]) -> str:
    """Say what is wrong with headers; empty if nothing is.

    Example:
        >>> headers_problem({"A B": "x"})
        "'A B' is no name of a header"

    References:
        RFC 9110, HTTP Semantics, sections 5.1 and 5.5.
    """
    folded: set[str] = set()
    for name, value in headers.items():
        if not _FIELD_NAME.fullmatch(name):
            return f"{name!r} is no name of a header"
        if name.lower() in folded:
            return f"header {name!r} stands twice"
        if len(value) > MAX_HEADER_LENGTH or not _FIELD_VALUE.fullmatch(value):
            return f"header {name!r} holds a line break, a control character or too much"
        folded.add(name.lower())
    return ""


def names_private_host(url: str, environ: Mapping[str, str]) -> bool:
    """Whether an address itself says that it lies on this machine or in a private network.

    Nothing is looked up. Link-local addresses do not count: clouds keep credentials there.

    Example:
        >>> names_private_host("http://localhost:3000/mcp", {})
        True
        >>> names_private_host("http://169.254.169.254/", {})
        False
    """
    missing = dict.fromkeys(variables(url), "")
    try:
        host = urlsplit(interpolate(url, {**missing, **environ})).hostname
    except ValueError:
        return False
    if not host:
        return False
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return (address.is_private or address.is_loopback) and not address.is_link_local
    name = host.rstrip(".").lower()
    return "." not in name or name.endswith(_LOCAL_SUFFIXES) or name == "host.docker.internal"


def open_secrets(url: str) -> tuple[str, ...]:
    """Name the parameters of an address that look like secrets written out.

    Example:
        >>> open_secrets("https://x/mcp?api_key=abc&page=1&token=${TOKEN}")
        ('api_key',)
    """
    try:
        query = parse_qsl(urlsplit(url).query)
    except ValueError:
        return ()
    return tuple(
        name for name, value in query if _SECRET_NAME.search(name) and not variables(value)
    )
