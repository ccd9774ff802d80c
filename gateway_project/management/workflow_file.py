"""Read workflows from files for commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError

MAX_DIGITS: Final = 4_300
"""Digits of a number that Python parses."""
_WORKFLOW_KEYS: Final = ("workflow", "draft_workflow")


def read_workflow(name: str) -> Any:
    """Read a workflow, or an object that contains one, such as an answer of `suggest --json`.

    Args:
        name: Path of the file; -: stdin.

    Raises:
        CommandError: If it cannot be read or is not JSON.
    """
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{name} is not UTF-8 text; save it as UTF-8") from None
    value = _parse_json(name, text)
    if isinstance(value, dict) and "tasks" not in value:
        return next((value[key] for key in _WORKFLOW_KEYS if key in value), value)
    return value


def _parse_json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise CommandError(
            f"{name} is not valid JSON: {error.msg} at {position}; fix it"
        ) from None
    except RecursionError:
        problem = "it is nested too deeply; arguments may have 100 levels"
    except ValueError:
        problem = f"it has a number of more than {MAX_DIGITS:,} digits; write it as text"
    raise CommandError(f"{name} cannot be read: {problem}")
