"""PostgreSQL's own programs, run against the database that Django uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from django.db import connections
from psycopg.conninfo import make_conninfo

from gateway_project.foundation.postgres import binaries
from gateway_project.foundation.postgres.cluster import ServerError

NOT_FOR_LIBPQ = ("context", "cursor_factory", "prepare_threshold")
"""Parameters that only psycopg understands."""


class ClientError(Exception):
    """A backup cannot be made or read back; one line that says what to do."""


class Target:
    """The database of a Django alias, as arguments and environment of a program."""

    def __init__(self, using: str) -> None:
        """Connect, so that an embedded database runs and a wrong address is told clearly.

        Raises:
            DatabaseUnavailable: If there is no database.
            ClientError: If its server is newer than the programs at hand.
        """
        wrapper = connections[using]
        wrapper.ensure_connection()
        self.server_major: int = wrapper.connection.info.server_version // 10_000
        if self.server_major > binaries.MAJOR:
            raise ClientError(
                f"the server is PostgreSQL {self.server_major} and the programs at hand know up "
                f"to {binaries.MAJOR}: use pg_dump and pg_restore of the server's version"
            )
        with wrapper.cursor() as cursor:
            cursor.execute("SELECT current_schema()")
            self.schema = str(cursor.fetchone()[0])
        parameters: Mapping[str, Any] = wrapper.get_connection_params()
        self._password = parameters.get("password")
        known = {
            key: value
            for key, value in parameters.items()
            if key not in NOT_FOR_LIBPQ and key != "password"
        }
        self._conninfo = make_conninfo(**known)

    def arguments(self) -> list[str]:
        """Where to connect; never a password, which others could read in the process list."""
        return [f"--dbname={self._conninfo}", "--no-password"]

    def environment(self) -> dict[str, str]:
        """This process's environment, with the password."""
        return os.environ | ({"PGPASSWORD": str(self._password)} if self._password else {})


def program(name: str) -> str:
    """Path of one of the programs.

    Raises:
        ClientError: If the package that brings them is missing.
    """
    try:
        return binaries.program(binaries.find(), name)
    except ServerError as error:
        raise ClientError(str(error)) from None


def last_line(output: bytes) -> str:
    """What a failed program has to say, without the parts that do not help."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines()]
    errors = [line for line in lines if ": error: " in line or "ERROR:" in line] or lines
    text = errors[0] if errors else "it gave no reason"
    return text.rpartition("error: ")[2].rpartition("ERROR:")[2].strip()
