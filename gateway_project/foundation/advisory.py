"""Locks between processes that are held while something other than the database is waited for."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import sql

from gateway_project.foundation import notify
from gateway_project.foundation.database import in_database

KEY_BYTES = 8


@asynccontextmanager
async def held(name: str, *, timeout_s: float) -> AsyncIterator[None]:
    """Hold an advisory lock, on a connection of its own so that no database thread is blocked.

    The lock ends with the connection, so a process that dies leaves none behind.

    Args:
        name: What is locked; processes of one database that give the same name exclude each other.
        timeout_s: How long to wait for it.

    Raises:
        psycopg.Error: If the database cannot be reached, or another holds the lock for too long.
    """
    parameters = await in_database(notify.connection_parameters)
    connection = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    try:
        wait_ms = sql.Literal(f"{timeout_s * 1_000:.0f}ms")
        await connection.execute(sql.SQL("SET lock_timeout = {}").format(wait_ms))
        await connection.execute("SELECT pg_advisory_lock(%s)", [_number(name)])
        yield
    finally:
        await connection.close()


def _number(name: str) -> int:
    digest = hashlib.sha256(f"foregate {name}".encode()).digest()
    return int.from_bytes(digest[:KEY_BYTES], signed=True)
