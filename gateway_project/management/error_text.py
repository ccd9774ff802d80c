"""Explain errors that a user can fix, in the one line with which a command ends."""

from __future__ import annotations

import psycopg
from django.apps import apps
from django.db import Error as DatabaseError
from django.db import OperationalError

from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.postgres import failures
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.foundation.user_error import UserError

EXPECTED_ERRORS = (
    ConfigurationError,
    UnsealingFailed,
    UserError,
    OperationalError,
    psycopg.OperationalError,
)
UNMIGRATED_ERRORS = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)
REFUSAL_ERRORS = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)
NAME_TRIGGER = "gateway_refuse_user_name()"
"""Function of the database that refuses a user's name."""


def explain_user_error(error: BaseException) -> str | None:
    """Explain an error that a user can fix, in one line; None if it is a defect of Foregate.

    A missing table or column means that the database is not migrated. Any other error of a
    statement is a defect.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; what was done so far is kept"
    if isinstance(error, (*EXPECTED_ERRORS, *_use_case_errors())):
        return summarize_error(error)
    driver_error = error.__cause__ if isinstance(error, DatabaseError) else error
    if isinstance(driver_error, UNMIGRATED_ERRORS):
        return "the database is not migrated; run `manage.py migrate`"
    if isinstance(driver_error, REFUSAL_ERRORS):
        reason = failures.explain_refused(driver_error) or summarize_error(driver_error)
        return f"the database refuses access: {reason}"
    if isinstance(driver_error, psycopg.IntegrityError) and is_refused_name(driver_error):
        return f"{driver_error.diag.message_primary}; choose another"
    return None


def is_refused_name(error: psycopg.Error) -> bool:
    """Whether an error is that of the trigger that refuses names of users."""
    return NAME_TRIGGER in (error.diag.context or "")


def _use_case_errors() -> tuple[type[Exception], ...]:
    """Return errors of modules that cannot be imported before Django has loaded its models."""
    if not apps.models_ready:
        return ()
    from gateway_project.access.callers import UnknownUser  # noqa: PLC0415 - see above

    return (UnknownUser,)
