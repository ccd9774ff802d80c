"""A database of its own beside the tests' database, as another alias of Django."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

from gateway_project.foundation.postgres import client

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
            _copy_tests_database()
        yield ALIAS
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]
        _run(f'DROP DATABASE "{name}" WITH (FORCE)')


def _copy_tests_database() -> None:
    """Copy the tests' database into the new one, which takes far less than migrating it again."""
    source, target = client.DatabaseTarget("default"), client.DatabaseTarget(ALIAS)
    dump = subprocess.run(
        [client.find_program("pg_dump"), *source.build_arguments(), "--format=custom"],
        env=source.build_environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    subprocess.run(
        [client.find_program("pg_restore"), *target.build_arguments(), "--exit-on-error"],
        env=target.build_environment(),
        input=dump.stdout,
        check=True,
    )


def _run(*statements: str) -> None:
    for statement in statements:
        with connections["default"]._nodb_cursor() as cursor:
            cursor.execute(statement)


def query(sql: str, *, using: str = ALIAS) -> list[tuple[object, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []
