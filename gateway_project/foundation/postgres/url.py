"""Parses the address of an external PostgreSQL in DATABASE_URL."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

EXAMPLE = "postgresql://user:password@host:5432/name"
SCHEMES = ("postgres", "postgresql")
MAX_PORT = 65_535

FIELDS = {
    "dbname": "name",
    "user": "user",
    "password": "password",
    "host": "host",
    "port": "port",
}
"""Query parameters that override a part of the address, as in libpq."""

RESERVED = frozenset({
    "assume_role", "client_encoding", "context", "cursor_factory", "isolation_level", "pool",
    "prepare_threshold", "row_factory", "server_side_binding",
})  # fmt: skip
"""Names with a meaning to Django or psycopg that are not connection parameters."""


class DatabaseAddress(NamedTuple):
    """An external database; empty parts are left to libpq's defaults."""

    name: str
    user: str = ""
    password: str = ""
    host: str = ""
    port: str = ""
    options: dict[str, str] = {}  # noqa: RUF012 - never changed


def parse_url(url: str) -> DatabaseAddress:
    """Parse a PostgreSQL connection URL as libpq does.

    Percent-encoding is undone in every part. Several hosts, a socket's folder as `?host=/path`,
    and options such as `?sslmode=require` are supported.

    Args:
        url: Such as `postgresql://user:password@host:5432/name`.

    Raises:
        ValueError: One clause that says what is wrong; it never repeats the URL.

    Example:
        >>> parse_url("postgres://me:p%40ss@db.example:6000/tools?sslmode=require").password
        'p@ss'
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        raise ValueError("has an IPv6 address that is not of the form [address]:port") from None
    if parts.scheme not in SCHEMES:
        raise ValueError(f"must look like {EXAMPLE}")
    if parts.fragment or "@" in parts.path:
        raise ValueError("has a '#', '/', '?' or '@' inside a part: write %23, %2F, %3F or %40")
    credentials, _, hosts = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    host, port = _split_hosts(hosts)
    fields = {
        "name": unquote(parts.path.removeprefix("/")),
        "user": unquote(user),
        "password": unquote(password),
        "host": host,
        "port": port,
    }
    options: dict[str, str] = {}
    for key, value in _parse_query(parts.query):
        if key in FIELDS:
            fields[FIELDS[key]] = value
        else:
            options[key] = value
    if not fields["name"]:
        raise ValueError(f"names no database: it must look like {EXAMPLE}")
    return DatabaseAddress(**fields, options=options)


def _parse_query(query: str) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(query.replace("+", "%2B"), strict_parsing=bool(query))
    except ValueError:
        raise ValueError("has options that are not of the form ?name=value&name=value") from None
    for key, _ in pairs:
        if key in RESERVED or not key.replace("_", "").isalpha():
            raise ValueError(f"has an option that PostgreSQL does not know: {key}")
    return pairs


def _split_hosts(text: str) -> tuple[str, str]:
    """Split `a:1,[::1]:2` into libpq's `a,::1` and `1,2`."""
    pairs = [_split_host(part) for part in text.split(",")]
    ports = [port for _, port in pairs]
    return ",".join(host for host, _ in pairs), ",".join(ports) if any(ports) else ""


def _split_host(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError("has an IPv6 address that is not of the form [address]:port")
        port = rest[1:]
    else:
        host, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) <= MAX_PORT):
        raise ValueError(f"has a port that is not a number from 1 to {MAX_PORT}")
    return unquote(host), port
