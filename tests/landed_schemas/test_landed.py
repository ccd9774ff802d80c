"""A migration that has landed is never edited: databases that applied it would differ for good."""

from __future__ import annotations

import hashlib
from pathlib import Path

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


def test_landed_migrations_are_as_they_landed_and_all_are_listed():
    assert problems(landed(), present()) == []


def test_an_edited_a_removed_and_an_unlisted_migration_are_each_told():
    table = {"a/migrations/0001_a.py": "1", "a/migrations/0002_b.py": "2"}
    files = {"a/migrations/0001_a.py": "9", "a/migrations/0003_c.py": "3"}
    edited, removed, unlisted = problems(table, files)
    assert edited == "a/migrations/0001_a.py: never edit a landed migration; write a new one"
    assert removed == "a/migrations/0002_b.py: never remove a landed migration"
    assert unlisted.endswith("landed.txt; add it when it lands: 3")
