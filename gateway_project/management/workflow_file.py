"""Workflows in files, as commands are given them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

_HOLDS = ("workflow", "draft_workflow")


def read_workflow(name: str) -> Any:
    """Read a workflow, or what holds one, such as an answer of `suggest --json`.

    Args:
        name: Of the file; -: stdin.

    Raises:
        CommandError: If it cannot be read, or holds no JSON.
    """
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
        value = json.loads(text)
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{name} holds no JSON that can be read: {error}") from None
    if isinstance(value, dict) and "tasks" not in value:
        return next((value[key] for key in _HOLDS if key in value), value)
    return value
