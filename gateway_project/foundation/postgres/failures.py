"""Explains failures of the database in one line that says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.db import OperationalError

MIN_SERVER_VERSION = 15
MIN_PGVECTOR = (0, 8)

FAILURE_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE), advice)
    for pattern, advice in (
        (
            r"(password authentication failed|no password supplied|password .*missing)",
            "{place} refuses the user {user!r} ({0}): put the right user and password into "
            "DATABASE_URL",
        ),
        (
            r'database "[^"]*" does not exist',
            "there is no database {name!r} at {place}: create it (`createdb {name}`) or correct "
            "DATABASE_URL",
        ),
        (
            r'role "[^"]*" does not exist',
            "there is no user {user!r} at {place}: create it or correct DATABASE_URL",
        ),
        (
            r"no pg_hba\.conf entry|peer authentication failed|ident authentication failed",
            "{place} does not let the user {user!r} in from here: allow it in the server's "
            "pg_hba.conf or correct DATABASE_URL",
        ),
        (
            r"(failed to resolve host|could not translate host name|name or service not known)",
            "cannot find the host of {place}: correct DATABASE_URL",
        ),
        (
            r"(connection refused|no such file or directory|network is unreachable|"
            r"no route to host|timeout expired)",
            "cannot reach PostgreSQL at {place} ({0}): start it, or correct host and port in "
            "DATABASE_URL",
        ),
        (
            r"unsupported startup parameter(?: in options)?: (\S+)",
            "the pooler at {place} rejects the parameter {0}: add it to ignore_startup_parameters "
            "in its configuration",
        ),
        (
            r"too many clients already|remaining connection slots|too many connections",
            "{place} has no connection to spare: raise its max_connections or close some clients",
        ),
        (
            r"(invalid connection option|invalid [a-z_]+ value|certificate|ssl[^\n]*)",
            "cannot connect to {place} as DATABASE_URL asks ({0}): correct its options",
        ),
        (
            r"the database system is (starting up|shutting down|in recovery mode)",
            "{place} is {0}: try again in a moment",
        ),
    )
)


class DatabaseUnavailable(OperationalError):
    """The database cannot be used; the message is one line that says what to do."""


def explain_failure(error: Exception, parameters: Mapping[str, Any]) -> str:
    """Return why a connection failed and what to do about it.

    Args:
        error: Error of the driver.
        parameters: Connection parameters; the password is never repeated.
    """
    message = str(error)
    values = {
        "place": _format_address(parameters),
        "name": parameters.get("dbname"),
        "user": parameters.get("user"),
    }
    for pattern, advice in FAILURE_PATTERNS:
        if match := pattern.search(message):
            return advice.format(*match.groups(), **values)
    return f"cannot use the database at {values['place']}: {_extract_first_line(message)}"


def explain_refused(error: Exception) -> str | None:
    """Return what lets a refused statement pass; None if it was not refused."""
    reason = _extract_first_line(str(error))
    if "read-only transaction" in reason:
        return f"{reason}: make it writable, or name the primary server in DATABASE_URL"
    if "permission denied" not in reason:
        return None
    if "create extension" in reason:
        return f"{reason}: have an administrator run `CREATE EXTENSION vector` in the database"
    if "for schema" in reason:
        return (
            f"{reason}: have an administrator run `GRANT ALL ON SCHEMA public` to the user of "
            "DATABASE_URL"
        )
    return f"{reason}: grant the user of DATABASE_URL read and write access"


def explain_pooler(parameters: Mapping[str, Any]) -> str:
    """Return why a pooler in transaction mode cannot be used, and what to do about it."""
    return (
        f"{_format_address(parameters)} is a pooler in transaction mode, and Foregate needs "
        "sessions (LISTEN, locks): set its pool_mode to session for this database, or name the "
        "server itself in DATABASE_URL"
    )


def explain_unsuitable(
    server_version: int, installed: str | None, available: str | None
) -> str | None:
    """Return why a server cannot serve Foregate, or None if it can.

    Args:
        server_version: PostgreSQL's version number, such as 180004 for 18.4.
        installed: Version of pgvector in the database; None if it is not installed.
        available: Version of pgvector that can be installed there; None if none can.
    """
    major = server_version // 10_000
    needed = ".".join(map(str, MIN_PGVECTOR))
    if major < MIN_SERVER_VERSION:
        return (
            f"the database server is PostgreSQL {major} and Foregate needs {MIN_SERVER_VERSION} "
            "or newer: upgrade it, or unset DATABASE_URL to use the embedded one"
        )
    if installed is None and available is None:
        return (
            f"the database server lacks pgvector: install pgvector {needed} or newer on it, or "
            "unset DATABASE_URL to use the embedded one"
        )
    if _parse_version(installed or available or "") >= MIN_PGVECTOR:
        return None
    if installed and available and _parse_version(available) >= MIN_PGVECTOR:
        return (
            f"pgvector {installed} in the database is too old: run `ALTER EXTENSION vector "
            f"UPDATE` in it (version {available} is available)"
        )
    return (
        f"pgvector {installed or available} of the database server is too old: install "
        f"{needed} or newer on it, then run `ALTER EXTENSION vector UPDATE`"
    )


def _parse_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def _format_address(parameters: Mapping[str, Any]) -> str:
    host, port = parameters.get("host") or "the default socket", parameters.get("port")
    return f"{host}:{port}" if port else str(host)


def _extract_first_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"
