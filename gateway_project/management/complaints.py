"""From errors that a user can mend to the one line a command ends with."""

from __future__ import annotations

import psycopg
from django.db import Error as DatabaseError

from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.sealing import SealBroken

EXPECTED = (ConfigurationError, SealBroken, DatabaseError, psycopg.Error)


def explain(error: BaseException) -> str | None:
    """Return one line on an error that a user can mend; None if it is a defect of ours.

    A missing table means that the database was never migrated, which is said as such.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; what was done so far is kept"
    if not isinstance(error, EXPECTED):
        return None
    if isinstance(error.__cause__, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
        return "the database is not migrated; run `manage.py migrate`"
    if isinstance(error, DatabaseError) and isinstance(error.__cause__, psycopg.ProgrammingError):
        return None
    return str(error).strip().partition("\n")[0]
