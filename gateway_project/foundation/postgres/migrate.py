"""Bring the database's schema up to date, once, however many processes start together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connections
from django.db.migrations.executor import MigrationExecutor

from gateway_project.foundation.postgres.failures import DatabaseUnavailable

LOCK = 0x464F5245_47415445
"""Key of the advisory lock: "FOREGATE" in ASCII."""


def pending_migrations(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Name the migrations that are not applied yet, such as `tools.0001_initial`, in order."""
    executor = MigrationExecutor(connections[using])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def migrate_once(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Apply what is pending and name it; of processes that ask together, one does the work.

    Raises:
        DatabaseUnavailable: If the database's user may not do it.
    """
    if not pending_migrations(using=using):
        return []
    with exclusively(using=using):
        pending = pending_migrations(using=using)
        if pending:
            try:
                call_command("migrate", database=using, interactive=False, verbosity=0)
            except ProgrammingError as error:
                raise _refused(error) from error
        return pending


@contextmanager
def exclusively(*, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Change the schema with no one else doing so; waits for its turn.

    The lock goes with the connection, so a killed process leaves none behind.
    """
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        if connections[using].connection is not None:
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _refused(error: ProgrammingError) -> ProgrammingError | DatabaseUnavailable:
    """Say who has to do what if the user lacks a right; other errors stay as they are."""
    reason = str(error).splitlines()[0]
    if "permission denied to create extension" in reason:
        return DatabaseUnavailable(
            f"{reason}: have an administrator run `CREATE EXTENSION vector` in the database"
        )
    if "permission denied" in reason:
        return DatabaseUnavailable(
            f"{reason}: have an administrator run `GRANT ALL ON SCHEMA public` to the user of "
            "DATABASE_URL"
        )
    return error
