import io
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from gateway_project.foundation import sealing
from gateway_project.foundation.postgres import backup, migrate, restore
from gateway_project.foundation.postgres.client import BackupError
from gateway_project.foundation.postgres.restore import RestoreResult
from gateway_project.management.commands import upgrade
from tests.gateway.terminals import sit_at_terminal


def run(*words: str) -> str:
    output = io.StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Let restores succeed without doing anything, and note them."""
    done: list[Path] = []

    def fake(
        path: Path, *, keep_in: Path | None, at: datetime, hold_runs: Callable[[], int]
    ) -> RestoreResult:
        done.append(path)
        return RestoreResult(
            migrated=("tools.0002_more",),
            replaced=keep_in,
            held_runs=2,
        )

    monkeypatch.setattr(restore, "restore_backup", fake)
    monkeypatch.setattr(restore, "has_data", lambda: True)
    monkeypatch.setattr(sealing, "find_key_problem", lambda _, *, name: f"no {name} key")
    return done


@pytest.mark.django_db
def test_backup_says_what_it_wrote(tmp_path: Path) -> None:
    file = tmp_path / "one.backup"
    assert f"bytes to {file}" in run("backup", str(file))
    assert json.loads(run("backup", str(file), "--json")) == {
        "path": str(file),
        "size_bytes": file.stat().st_size,
    }


def test_backup_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        raise BackupError("cannot write it")

    monkeypatch.setattr(backup, "create_backup", fail)
    with pytest.raises(CommandError, match=r"^cannot write it$"):
        run("backup", str(tmp_path / "x"))


def test_restore_says_what_it_did(
    restored: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"1234567")
    said = run("restore", str(file), "--yes")
    assert f"Restored {file}" in said
    assert "tools.0002_more" in said
    assert f"Saved what it replaced to {settings.FOREGATE.home / 'backups'}" in said
    assert "Paused its open runs (2)" in said
    assert "withdraw again what was withdrawn since" in said
    assert "Warning: no sealing key\nWarning: no payloads key" in capsys.readouterr().err
    assert json.loads(run("restore", str(file), "--yes", "--no-backup", "--json")) == {
        "path": str(file),
        "size_bytes": 7,
        "migrated": ["tools.0002_more"],
        "replaced": None,
        "held_runs": 2,
        "warnings": ["no sealing key", "no payloads key"],
    }
    assert restored == [file, file]


def test_restore_without_a_terminal_needs_yes(
    restored: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(CommandError, match="add --yes"):
        run("restore", "/x")
    assert restored == []


@pytest.mark.parametrize(("answer", "done"), [("y", 1), ("Yes ", 1), ("", 0), ("no", 0)])
def test_restore_asks_before_it_replaces_data(
    restored: list[Path], monkeypatch: pytest.MonkeyPatch, answer: str, done: int
) -> None:
    sit_at_terminal(monkeypatch, answer)
    if done:
        run("restore", "/x")
    else:
        with pytest.raises(CommandError, match="nothing was changed"):
            run("restore", "/x")
    assert len(restored) == done


def test_restore_into_an_empty_database_asks_nothing(
    restored: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "has_data", lambda: False)
    run("restore", "/x")
    assert restored == [Path("/x")]


def test_restore_that_fails_is_one_line(
    restored: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, **_: object) -> None:
        raise BackupError("it is damaged")

    monkeypatch.setattr(restore, "restore_backup", fail)
    with pytest.raises(CommandError, match=r"^it is damaged$"):
        run("restore", "/x", "--yes")


@pytest.mark.parametrize(
    ("applied", "way_back"),
    [
        (["tools.9_a_additive", "graph.9_b_additive"], "which can use the database as it is."),
        (["tools.9_a_additive", "graph.9_b"], "then manage.py restore /saved"),
    ],
)
def test_upgrade_says_how_to_go_back(
    monkeypatch: pytest.MonkeyPatch, applied: list[str], way_back: str
) -> None:
    monkeypatch.setattr(upgrade, "major_upgrade", SimpleNamespace(find_old_major=lambda _: None))
    monkeypatch.setattr(migrate, "list_pending_migrations", lambda: applied)
    monkeypatch.setattr(migrate, "migrate_once", lambda *, saves: applied if not saves else None)
    monkeypatch.setattr(upgrade, "save_before", lambda *_, **__: Path("/saved"))
    monkeypatch.setattr(upgrade, "call_command", lambda *_: None)
    said = run("upgrade")
    assert "Saved the database to /saved\nApplied 2 migrations.\n" in said
    assert said.endswith(f"To go back: install the earlier version, {way_back}\n")
