"""End a command with the reason for which what it asked for was refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.core.management.base import CommandError

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller


@contextmanager
def refusing(*errors: type[Exception]) -> Iterator[None]:
    """Raise CommandError with the text of an error of these kinds."""
    try:
        yield
    except errors as error:
        raise CommandError(str(error)) from None


def load_command_user(name: str) -> Caller:
    """Return the user a command acts for.

    Raises:
        CommandError: If there is no active user of that name.
    """
    from gateway_project.access import callers  # noqa: PLC0415 - needs loaded models

    callers.ensure_local_admin()
    with refusing(callers.UnknownUser):
        return callers.caller_for_user(name, kind="command")
