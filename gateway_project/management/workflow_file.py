"""Workflows in files, as commands are given them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError

MAX_DIGITS: Final = 4_300
"""Of a number, as many as Python reads."""
_HOLDS: Final = ("workflow", "draft_workflow")


def read_workflow(name: str) -> Any:
    """Read a workflow, or what holds one, such as an answer of `suggest --json`.

    Args:
        name: Of the file; -: stdin.

    Raises:
        CommandError: If it cannot be read, or holds no JSON.
    """
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{name} is no text in UTF-8; save it as that") from None
    value = _parsed(name, text)
    if isinstance(value, dict) and "tasks" not in value:
        return next((value[key] for key in _HOLDS if key in value), value)
    return value


def _parsed(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise CommandError(f"{name} holds no JSON: {error.msg} at {where}; mend it") from None
    except RecursionError:
        said = "it is nested too deeply; arguments may have 100 levels"
    except ValueError:
        said = f"it has a number of more than {MAX_DIGITS:,} digits; write it as text"
    raise CommandError(f"{name} cannot be read: {said}")
