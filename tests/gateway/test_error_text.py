import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.db import DataError, IntegrityError, OperationalError, ProgrammingError, connection

from gateway_project.access.callers import UnknownUser
from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.postgres.failures import DatabaseUnavailable
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.management import error_text
from gateway_project.use_cases.refusals import InvalidEntry
from tests.patience import PATIENCE_S

MANAGE = Path(__file__).parents[2] / "manage.py"
NOT_MIGRATED = "the database is not migrated; run `manage.py migrate`"


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "kind",
    [
        ConfigurationError,
        UnsealingFailed,
        DatabaseUnavailable,
        OperationalError,
        psycopg.OperationalError,
        UnknownUser,
        InvalidEntry,
    ],
)
def test_an_error_a_user_can_fix_is_its_first_line(kind):
    assert error_text.explain_user_error(kind("do this\nDETAIL: and more")) == "do this"


def test_an_unavailable_database_is_reported_as_such():
    error = caused(DatabaseUnavailable("start it"), psycopg.errors.UndefinedTable("no table"))
    assert error_text.explain_user_error(error) == "start it"


@pytest.mark.parametrize("kind", [psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn])
def test_a_missing_table_is_reported_as_unmigrated(kind):
    assert (
        error_text.explain_user_error(caused(ProgrammingError("no x"), kind("no x")))
        == NOT_MIGRATED
    )
    assert error_text.explain_user_error(kind("no x")) == NOT_MIGRATED


@pytest.mark.django_db
def test_a_table_that_is_really_missing_is_recognised():
    with pytest.raises(ProgrammingError) as caught, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM absent")
    assert error_text.explain_user_error(caught.value) == NOT_MIGRATED


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (
            psycopg.errors.InsufficientPrivilege(
                'permission denied to create extension "vector"\nHINT: x'
            ),
            "have an administrator run `CREATE EXTENSION vector` in the database",
        ),
        (
            psycopg.errors.InsufficientPrivilege("permission denied for schema public"),
            "have an administrator run `GRANT ALL ON SCHEMA public` to the user of DATABASE_URL",
        ),
        (
            psycopg.errors.InsufficientPrivilege("permission denied for table tools_tool"),
            "grant the user of DATABASE_URL read and write access",
        ),
        (
            psycopg.errors.ReadOnlySqlTransaction("cannot write in a read-only transaction"),
            "make it writable, or name the primary server in DATABASE_URL",
        ),
    ],
)
def test_a_refused_statement_is_reported_with_what_lets_it_pass(error, advice):
    line = error_text.explain_user_error(caused(ProgrammingError("no"), error))
    reason = str(error).partition("\n")[0]
    assert line == f"the database refuses access: {reason}: {advice}"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        LookupError("x"),
        SystemExit(1),
        ProgrammingError("x"),
        caused(ProgrammingError("x"), psycopg.errors.SyntaxError("x")),
        caused(IntegrityError("x"), psycopg.errors.UniqueViolation("x")),
        caused(DataError("x"), psycopg.DataError("x")),
        caused(RuntimeError("x"), psycopg.errors.UndefinedTable("x")),
        psycopg.errors.SyntaxError("x"),
    ],
    ids=lambda error: f"{type(error).__name__} of {type(error.__cause__).__name__}",
)
def test_a_defect_is_not_reported_as_a_user_error(error):
    assert error_text.explain_user_error(error) is None


def test_an_interruption_is_no_defect():
    assert (
        error_text.explain_user_error(KeyboardInterrupt())
        == "interrupted; what was done so far is kept"
    )


def test_explaining_an_error_works_without_django_setup():
    code = (
        "from gateway_project.management import error_text; "
        "print(error_text.explain_user_error(KeyboardInterrupt()), "
        "error_text.explain_user_error(ValueError()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout == "interrupted; what was done so far is kept None\n"


def test_a_terminal_that_lacks_a_character_is_shown_its_number():
    command = [sys.executable, str(MANAGE), "export_graph", "--help"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.check_output(command, env=env, timeout=PATIENCE_S).decode()
    assert "communities, \\u2026" in shown


def test_a_closed_pipe_causes_no_traceback():
    command = [sys.executable, str(MANAGE), "help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE_S) == 1
