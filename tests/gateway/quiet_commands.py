"""Commands as a test carries them out: within its own process and database."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command

from gateway_project.foundation import telemetry
from gateway_project.foundation.postgres import migrate


def hush(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands leave logging and migrations to the tests."""
    monkeypatch.setattr(telemetry, "configure_logging", lambda *_, **__: None)
    monkeypatch.setattr(migrate, "migrate_once", lambda: None)


def printed(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """Return what a command writes to stdout, by Django's way or its own."""
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue() + capsys.readouterr().out
