"""The file of a command, and the user of one that imports."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from gateway_project.access import callers
from gateway_project.foundation.caller import Caller
from tools.hidden_text import reveal_hidden

MAX_DIGITS: Final = 4_300
"""Digits of a number that Python parses."""
_WORKFLOW_KEYS: Final = ("workflow", "draft_workflow")


def load_importer(username: str, *, permissions: Sequence[str], action: str) -> Caller:
    """Return the user who imports.

    Args:
        username: Their name.
        permissions: What they must be permitted.
        action: The same in words.

    Raises:
        CommandError: If they may not.
        UnknownUser: If there is no active user of that name.
    """
    callers.ensure_local_admin()
    caller = callers.caller_for_user(username, kind="command")
    if not get_user_model().objects.get(username=username).has_perms(permissions):
        raise CommandError(f"{username!r} may not {action}; name a user who may")
    return caller


def display_name(file: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if file == "-" else Path(file).name


def print_problems(command: BaseCommand, problems: Sequence[Any], count: int) -> None:
    """Print problems of a file, each with its place, and how many more there are."""
    for problem in problems:
        command.stderr.write(reveal_hidden(str(problem)), command.style.ERROR)
    if (more := count - len(problems)) > 0:
        command.stderr.write(f"and {more:,} more", command.style.ERROR)


def problems_to_json(problems: Sequence[Any], count: int) -> dict[str, Any]:
    """Return problems of a file, which are named tuples, for a report."""
    return {"problem_count": count, "problems": [problem._asdict() for problem in problems]}


def read_content(file: str, *, max_bytes: int) -> bytes:
    """Read a file or stdin (`-`), up to one byte more than the limit, so that excess is detected.

    Raises:
        CommandError: If it cannot be read.
    """
    if file == "-":
        return sys.stdin.buffer.read(max_bytes + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(max_bytes + 1)
    except FileNotFoundError:
        raise CommandError(f"no file {file!r}") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None


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
