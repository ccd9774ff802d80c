"""A schema of its own for one evaluation, dropped after it, however it ends."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import connection
from psycopg import sql

PREFIX = "foregate_evaluate_"
APPS = ("tools", "graph")


@contextmanager
def scratch_schema() -> Iterator[str]:
    """Work on empty tables with the structure of the real ones, which stay untouched.

    The schema is held by an advisory lock of this connection: one left behind by a process that
    was killed is held by nobody, and the next evaluation drops it.

    Yields:
        Name of the schema, first on the connection's search path meanwhile.
    """
    drop_leftovers()
    name = PREFIX + secrets.token_hex(6)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])
        cursor.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    try:
        with connection.cursor() as cursor:
            for table in _tables():
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


def drop_leftovers() -> int:
    """Drop the schemas of evaluations that were killed; return how many."""
    dropped = 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", [PREFIX])
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


def _tables() -> list[str]:
    models = [model for label in APPS for model in apps.get_app_config(label).get_models()]
    return [model._meta.db_table for model in models]
