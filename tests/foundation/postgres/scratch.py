"""A migrated database of its own beside the tests' database, as another alias of Django."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

from gateway_project.foundation.postgres.migrate import migrate_once

ALIAS = "scratch"


@contextmanager
def database(*, migrated: bool = True) -> Iterator[str]:
    default = connections["default"]
    # Where no test uses the tests' database, it is not made, and all workers name the same one.
    name = f"{default.settings_dict['NAME']}_{ALIAS}_{os.environ.get('PYTEST_XDIST_WORKER', '0')}"
    _run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)', f'CREATE DATABASE "{name}"')
    connections.settings[ALIAS] = {**default.settings_dict, "NAME": name}
    try:
        if migrated:
            migrate_once(using=ALIAS)
        yield ALIAS
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]
        _run(f'DROP DATABASE "{name}" WITH (FORCE)')


def _run(*statements: str) -> None:
    for statement in statements:
        with connections["default"]._nodb_cursor() as cursor:
            cursor.execute(statement)


def query(sql: str, *, using: str = ALIAS) -> list[tuple[object, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []
