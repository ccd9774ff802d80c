"""Somebody who sits at the terminal."""

from __future__ import annotations

import sys
from io import StringIO

import pytest


class _Typed(StringIO):
    def isatty(self) -> bool:
        return True


def sit_at_terminal(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """Answer the next question with a line; nothing at all leaves it without one."""
    monkeypatch.setattr(sys, "stdin", _Typed(f"{said}\n" if said else ""))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
