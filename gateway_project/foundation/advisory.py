"""Locks between processes that are held while something other than the database is waited for."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg
from django.db import OperationalError, connection, transaction
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
    own = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    try:
        wait_ms = sql.Literal(_milliseconds(timeout_s))
        await own.execute(sql.SQL("SET lock_timeout = {}").format(wait_ms))
        await own.execute("SELECT pg_advisory_lock(%s)", [_number(name)])
        yield
    finally:
        await own.close()


@contextmanager
def claimed(name: str, *, wait_s: float) -> Iterator[bool]:
    """Hold an advisory lock on this thread's connection, or say that another holds it.

    Args:
        name: What is locked; processes of one database that give the same name exclude each other.
        wait_s: How long to wait for it; less than a millisecond does not wait.
    """
    key = _number(name)
    if not _claim(key, wait_s):
        yield False
        return
    try:
        yield True
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [key])


def _claim(key: int, wait_s: float) -> bool:
    with connection.cursor() as cursor:
        if wait_s * 1_000 < 1:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
            (is_ours,) = cursor.fetchone()
            return bool(is_ours)
        try:
            with transaction.atomic():
                timeout = ["lock_timeout", _milliseconds(wait_s)]
                cursor.execute("SELECT set_config(%s, %s, true)", timeout)
                cursor.execute("SELECT pg_advisory_lock(%s)", [key])
        except OperationalError as error:
            if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                return False
            raise
    return True


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1_000:.0f}ms"


def _number(name: str) -> int:
    digest = hashlib.sha256(f"foregate {name}".encode()).digest()
    return int.from_bytes(digest[:KEY_BYTES], signed=True)
