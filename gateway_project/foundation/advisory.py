"""PostgreSQL advisory locks: mutual exclusion between processes of one database."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg
from django.db import OperationalError, connection, transaction
from psycopg import sql

from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread

KEY_BYTES = 8


@asynccontextmanager
async def hold_lock(name: str, *, timeout_s: float) -> AsyncIterator[None]:
    """Hold an advisory lock on a dedicated connection, so that no database thread is blocked.

    The lock is released with the connection, even if the process dies.

    Args:
        name: Name of the lock; processes of one database that use the same name exclude each
            other.
        timeout_s: How long to wait for it.

    Raises:
        psycopg.Error: If the database cannot be reached, or the wait times out.
    """
    parameters = await run_in_database_thread(notify.get_connection_parameters)
    dedicated = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    try:
        timeout = sql.Literal(_format_milliseconds(timeout_s))
        await dedicated.execute(sql.SQL("SET lock_timeout = {}").format(timeout))
        await dedicated.execute("SELECT pg_advisory_lock(%s)", [_hash_lock_name(name)])
        yield
    finally:
        await dedicated.close()


@contextmanager
def try_lock(name: str, *, wait_s: float) -> Iterator[bool]:
    """Hold an advisory lock on this thread's connection; yields whether it was acquired.

    Args:
        name: Name of the lock; processes of one database that use the same name exclude each
            other.
        wait_s: How long to wait for it; less than a millisecond does not wait.
    """
    key = _hash_lock_name(name)
    if not _try_acquire(key, wait_s):
        yield False
        return
    try:
        yield True
    finally:
        _release(key)


def _release(key: int) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
    except Exception:
        connection.close()  # which releases the lock too
        raise


def _try_acquire(key: int, wait_s: float) -> bool:
    with connection.cursor() as cursor:
        if wait_s * 1_000 < 1:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
            (is_acquired,) = cursor.fetchone()
            return bool(is_acquired)
        try:
            with transaction.atomic():
                timeout = ["lock_timeout", _format_milliseconds(wait_s)]
                cursor.execute("SELECT set_config(%s, %s, true)", timeout)
                cursor.execute("SELECT pg_advisory_lock(%s)", [key])
        except OperationalError as error:
            if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                return False
            raise
    return True


def _format_milliseconds(seconds: float) -> str:
    return f"{seconds * 1_000:.0f}ms"


def _hash_lock_name(name: str) -> int:
    digest = hashlib.sha256(f"foregate {name}".encode()).digest()
    return int.from_bytes(digest[:KEY_BYTES], signed=True)


class AdvisoryLocks:
    """Advisory locks of one process, held on one dedicated connection.

    The connection is open only while a lock is held. The locks are released with it, even if the
    process dies.
    """

    def __init__(self) -> None:
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._held_keys: set[int] = set()
        self._mutex = asyncio.Lock()

    async def acquire(self, name: str) -> bool:
        """Acquire a lock; False if another process, or this one, holds it.

        Raises:
            psycopg.Error: If the database cannot be reached.
            django.db.Error: Likewise.
        """
        key = _hash_lock_name(name)
        async with self._mutex:
            if key in self._held_keys and self._is_open:
                return False
            connection = await self._ensure_connection()
            cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", [key])
            row = await cursor.fetchone()
            if row is not None and row[0]:
                self._held_keys.add(key)
                return True
            await self._close_if_unused()
            return False

    async def release(self, name: str) -> None:
        """Release a lock; does nothing if it was lost with its connection."""
        key = _hash_lock_name(name)
        async with self._mutex:
            if key not in self._held_keys:
                return
            self._held_keys.discard(key)
            # Unlock explicitly: the server notices a closed connection only a moment later.
            with suppress(psycopg.Error):
                if self._connection is not None:
                    await self._connection.execute("SELECT pg_advisory_unlock(%s)", [key])
            await self._close_if_unused()

    async def aclose(self) -> None:
        """Release all locks."""
        async with self._mutex:
            self._held_keys.clear()
            with suppress(psycopg.Error):
                if self._connection is not None:
                    await self._connection.execute("SELECT pg_advisory_unlock_all()")
            await self._close_if_unused()

    @property
    def _is_open(self) -> bool:
        return self._connection is not None and not self._connection.closed

    async def _ensure_connection(self) -> psycopg.AsyncConnection[Any]:
        if self._connection is None or self._connection.closed:
            self._held_keys.clear()
            parameters = await run_in_database_thread(notify.get_connection_parameters)
            self._connection = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
        return self._connection

    async def _close_if_unused(self) -> None:
        if self._connection is not None and not self._held_keys:
            connection, self._connection = self._connection, None
            await connection.close()
