"""The outcome of the last demonstration, kept in the home folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

UNFINISHED = "it has not finished"


def list_failures(report: dict[str, Any]) -> list[str]:
    """Return which parts of a demonstration failed."""
    intents, ahead = report["intents"], report["speculation"]
    missed, refused = intents - report["found"], intents - report["called"]
    parts = {
        f"{missed} of {intents} tools were not found": missed,
        f"{refused} of {intents} calls failed": refused,
        "no workflow was suggested": not report["suggested"],
        "the workflow did not succeed": not report["ran"],
        "the intent was not run ahead": not ahead["ran_ahead"],
        "the next call was never answered ahead": not ahead["served"],
    }
    return [part for part, has_failed in parts.items() if has_failed]


def record_failure(home: Path, failure: str) -> None:
    """Keep why the last demonstration failed; empty: it succeeded."""
    path = _failure_path(home)
    if failure:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(failure, encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def load_failure(home: Path) -> str:
    """Return why the last demonstration failed; empty if it succeeded, or there was none."""
    path = _failure_path(home)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _failure_path(home: Path) -> Path:
    return home / "demo" / "failure.txt"
