"""From errors that a user can mend to the one line a command ends with."""

from __future__ import annotations

import psycopg
from django.apps import apps
from django.db import Error as DatabaseError
from django.db import OperationalError

from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.reasons import first_line
from gateway_project.foundation.sealing import SealBroken

EXPECTED = (ConfigurationError, SealBroken, OperationalError, psycopg.OperationalError)
UNMIGRATED = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)
REFUSED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)


def explain(error: BaseException) -> str | None:
    """Return one line on an error that a user can mend; None if it is a defect of ours.

    A missing table means that the database was never migrated, which is said as such. What else
    the database finds wrong with a statement is a defect.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; what was done so far is kept"
    if isinstance(error, (*EXPECTED, *_of_use_cases())):
        return first_line(error)
    driver = error.__cause__ if isinstance(error, DatabaseError) else error
    if isinstance(driver, UNMIGRATED):
        return "the database is not migrated; run `manage.py migrate`"
    if isinstance(driver, REFUSED):
        return f"the database refuses: {first_line(driver)}; let its user read and write there"
    return None


def _of_use_cases() -> tuple[type[Exception], ...]:
    """Return the errors of modules that cannot be imported before Django has its models."""
    if not apps.models_ready:
        return ()
    from gateway_project.access.callers import UnknownUser  # noqa: PLC0415 - see above
    from gateway_project.use_cases.register_servers import (  # noqa: PLC0415 - see above
        NotPermitted,
        NotRegistrable,
    )

    return (UnknownUser, NotPermitted, NotRegistrable)
