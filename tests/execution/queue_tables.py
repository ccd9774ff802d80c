"""The tables of the queue, which only installations that use it have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from procrastinate.schema import SchemaManager

DROP = """
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT oid::regclass FROM pg_class
              WHERE relname LIKE 'procrastinate%' AND relkind = 'r'
  LOOP EXECUTE 'DROP TABLE IF EXISTS ' || name || ' CASCADE'; END LOOP;
  FOR name IN SELECT oid::regprocedure FROM pg_proc WHERE proname LIKE 'procrastinate%'
  LOOP EXECUTE 'DROP FUNCTION IF EXISTS ' || name || ' CASCADE'; END LOOP;
  FOR name IN SELECT oid::regtype FROM pg_type
              WHERE typname LIKE 'procrastinate%' AND typtype IN ('e', 'c')
  LOOP EXECUTE 'DROP TYPE IF EXISTS ' || name || ' CASCADE'; END LOOP;
END $$
"""


@contextmanager
def queue_tables() -> Iterator[None]:
    """Make them, and drop them afterwards."""
    with connection.cursor() as cursor:
        cursor.execute(SchemaManager.get_schema())
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(DROP)


def jobs() -> list[tuple[str, dict[str, str]]]:
    """Status and arguments of every job that has a run run, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status::text, args FROM procrastinate_jobs "
            "WHERE task_name = 'foregate.run' ORDER BY id"
        )
        return cursor.fetchall()
