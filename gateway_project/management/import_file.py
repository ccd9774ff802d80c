"""The file and the user of a command that imports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from gateway_project.access import callers
from gateway_project.foundation.caller import Caller
from tools.hidden_text import reveal_hidden


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
