"""A migration that has landed is never edited: databases that applied it would differ for good."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from gateway_project.foundation.postgres import migrate

BASE = Path(__file__).resolve().parent.parent.parent
TABLE = Path(__file__).parent / "landed.txt"


def landed() -> dict[str, str]:
    rows = (line.split() for line in TABLE.read_text().splitlines())
    return {path: digest for digest, path in rows}


def present() -> dict[str, str]:
    files = [*BASE.glob("*/migrations/[0-9]*.py")]
    return {
        file.relative_to(BASE).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def problems(table: dict[str, str], files: dict[str, str]) -> list[str]:
    """Return what is wrong with the migrations that there are, and what to do about each."""
    edited = [path for path in table.keys() & files.keys() if table[path] != files[path]]
    return [
        *(f"{path}: never edit a landed migration; write a new one" for path in edited),
        *(f"{path}: never remove a landed migration" for path in table.keys() - files.keys()),
        *(
            f"{path}: not in tests/landed_schemas/landed.txt; add it when it lands: {files[path]}"
            for path in files.keys() - table.keys()
        ),
    ]


def is_additive(operation: Operation) -> bool:
    """Whether programs that do not know of an operation may go on as before."""
    if isinstance(operation, migrations.AddField):
        return operation.field.null or operation.field.has_db_default()
    # What SQL does, its author has to judge.
    return isinstance(operation, migrations.CreateModel | migrations.AddIndex | migrations.RunSQL)


def test_migrations_that_are_named_additive_only_add():
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if name.endswith(migrate.ADDITIVE_SUFFIX):
            others = [str(op) for op in migration.operations if not is_additive(op)]
            assert others == [], f"{app}.{name} does more than add: name it otherwise"


@pytest.mark.parametrize(
    ("operation", "additive"),
    [
        (migrations.AddField("x", "y", models.IntegerField(null=True)), True),
        (migrations.AddField("x", "y", models.IntegerField(db_default=1)), True),
        (migrations.AddField("x", "y", models.IntegerField(default=1)), False),
        (migrations.RemoveField("x", "y"), False),
        (migrations.RunPython(migrations.RunPython.noop), False),
    ],
)
def test_a_column_that_older_programs_would_have_to_fill_is_no_addition(operation, additive):
    assert is_additive(operation) is additive


def test_landed_migrations_are_as_they_landed_and_all_are_listed():
    assert problems(landed(), present()) == []


def test_an_edited_a_removed_and_an_unlisted_migration_are_each_told():
    table = {"a/migrations/0001_a.py": "1", "a/migrations/0002_b.py": "2"}
    files = {"a/migrations/0001_a.py": "9", "a/migrations/0003_c.py": "3"}
    edited, removed, unlisted = problems(table, files)
    assert edited == "a/migrations/0001_a.py: never edit a landed migration; write a new one"
    assert removed == "a/migrations/0002_b.py: never remove a landed migration"
    assert unlisted.endswith("landed.txt; add it when it lands: 3")
