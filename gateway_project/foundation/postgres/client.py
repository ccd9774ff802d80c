"""Runs PostgreSQL's programs against the database that Django uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from django.db import connections
from psycopg.conninfo import make_conninfo

from gateway_project.foundation.postgres import binaries
from gateway_project.foundation.postgres.cluster import ServerError

DJANGO_ONLY_OPTIONS = ("context", "cursor_factory", "prepare_threshold")
"""Parameters that only psycopg understands."""


class BackupError(Exception):
    """A backup cannot be created or restored; one line that says what to do."""


class DatabaseTarget:
    """The database of a Django alias, as command-line arguments and environment of a program."""

    def __init__(self, using: str) -> None:
        """Connect, so that an embedded database runs and a wrong address is reported clearly.

        Raises:
            DatabaseUnavailable: If there is no database.
            BackupError: If the server is newer than the installed programs.
        """
        wrapper = connections[using]
        wrapper.ensure_connection()
        self.server_major: int = wrapper.connection.info.server_version // 10_000
        if self.server_major > binaries.MAJOR:
            raise BackupError(
                f"the server is PostgreSQL {self.server_major} and the available programs "
                f"support up to {binaries.MAJOR}: use pg_dump and pg_restore of the server's "
                "version"
            )
        with wrapper.cursor() as cursor:
            cursor.execute(
                "SELECT current_schema(), (SELECT count(*) FROM pg_class WHERE relkind = 'r' "
                "AND relnamespace = current_schema()::regnamespace)"
            )
            schema, tables = cursor.fetchone()
        self.schema, self.tables = str(schema), int(tables)
        parameters: Mapping[str, Any] = wrapper.get_connection_params()
        self._password = parameters.get("password")
        public = {
            key: value
            for key, value in parameters.items()
            if key not in DJANGO_ONLY_OPTIONS and key != "password"
        }
        self._conninfo = make_conninfo(**public)

    def build_arguments(self) -> list[str]:
        """Return the connection arguments, without the password: process lists show them."""
        return [f"--dbname={self._conninfo}", "--no-password"]

    def build_environment(self) -> dict[str, str]:
        """Return this process's environment with the password added."""
        return os.environ | ({"PGPASSWORD": str(self._password)} if self._password else {})


def find_program(name: str) -> str:
    """Return the path of a program.

    Raises:
        BackupError: If the package that contains the programs is missing.
    """
    try:
        return binaries.program_path(binaries.find_programs(), name)
    except ServerError as error:
        raise BackupError(str(error)) from None


def extract_error_line(output: bytes) -> str:
    """Return the first error message in the output of a failed program, without its prefix."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines()]
    errors = [line for line in lines if ": error: " in line or "ERROR:" in line] or lines
    text = errors[0] if errors else "it gave no reason"
    return text.rpartition("error: ")[2].rpartition("ERROR:")[2].strip()
