"""A temporary database schema for one evaluation, dropped at its end in any case."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import connection
from psycopg import sql

SCHEMA_PREFIX = "foregate_evaluate_"
COPIED_APPS = ("tools", "graph")


@contextmanager
def open_scratch_schema() -> Iterator[str]:
    """Work on empty tables with the structure of the real ones, which stay untouched.

    An advisory lock of this connection marks the schema as in use: the schema of a killed process
    is unlocked, and the next evaluation drops it.

    Yields:
        Name of the schema, which is first on the connection's search path.
    """
    drop_leftover_schemas()
    name = SCHEMA_PREFIX + secrets.token_hex(6)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])
        cursor.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    try:
        with connection.cursor() as cursor:
            for table in _list_tables():
                cursor.execute(
                    sql.SQL("CREATE TABLE {}.{} (LIKE {} INCLUDING ALL)").format(
                        sql.Identifier(name), sql.Identifier(table), sql.Identifier(table)
                    )
                )
            cursor.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(name)))
        yield name
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET search_path")
            cursor.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])


def drop_leftover_schemas() -> int:
    """Drop the schemas left by killed evaluations; return their number."""
    dropped = 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", [SCHEMA_PREFIX]
        )
        for (name,) in cursor.fetchall():
            cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [name])
            if not cursor.fetchone()[0]:
                continue
            cursor.execute(
                sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name))
            )
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])
            dropped += 1
    return dropped


def _list_tables() -> list[str]:
    models = [model for label in COPIED_APPS for model in apps.get_app_config(label).get_models()]
    return [model._meta.db_table for model in models]
