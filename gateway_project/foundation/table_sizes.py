"""Sizes of tables as the database estimates them, without counting rows."""

from __future__ import annotations

from typing import NamedTuple

from django.db import connection

_SIZES = """
SELECT relname, greatest(reltuples, 0)::bigint, pg_total_relation_size(oid)
FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""


class TableSize(NamedTuple):
    """Size of a table.

    Attributes:
        rows: About how many rows it has, as of its last analysis.
        total_bytes: With its indexes.
    """

    rows: int
    total_bytes: int


def load_table_sizes() -> dict[str, TableSize]:
    """Return the size of each table, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        return {name: TableSize(rows, size) for name, rows, size in cursor.fetchall()}
