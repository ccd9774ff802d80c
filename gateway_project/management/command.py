"""What commands have in common: their arguments as rows, the database, the log, the report."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller

Argument = tuple[str, dict[str, Any]]
"""Name of an argument, and what `ArgumentParser.add_argument` is told of it."""


def argument(name: str, text: str, metavar: str | None = None, **described: Any) -> Argument:
    """Return an argument.

    Args:
        name: Of the argument; an option begins with dashes.
        text: Its help.
        metavar: What stands for its value in the help; None: its name.
        described: As of `ArgumentParser.add_argument`.
    """
    return name, {"help": text, "metavar": metavar, **described}


def flag(name: str, text: str) -> Argument:
    """Return an option that is given or not, with its help."""
    return name, {"help": text, "action": "store_true"}


def up_to(highest: int, what: str = "a number") -> Callable[[str], int]:
    """Return what reads a whole number from 1 to a limit: the `type` of an argument."""

    def read(text: str) -> int:
        if text.isdecimal() and 1 <= int(text) <= highest:
            return int(text)
        raise ArgumentTypeError(f"{text}: not {what} from 1 to {highest:,}")

    return read


JSON = flag("--json", "report as JSON")


class GatewayCommand(BaseCommand):
    """A command; subclasses say what they take and need, and implement `run`.

    Attributes:
        arguments: In the order of the help.
        database: Whether its schema must be `current`, or is `migrated` first; empty: neither.
        logs: Whether it logs, to the file alone, under its name.
    """

    arguments: ClassVar[Sequence[Argument]] = ()
    database: ClassVar[Literal["", "current", "migrated"]] = ""
    logs: ClassVar[bool] = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments to the parser."""
        for name, described in self.arguments:
            parser.add_argument(name, **described)

    def handle(self, *_: Any, **options: Any) -> None:
        """Prepare log and database, and run."""
        if self.logs:
            from gateway_project.foundation import telemetry  # noqa: PLC0415 - commands start fast

            name = type(self).__module__.rpartition(".")[2]
            telemetry.configure_logging(settings.FOREGATE, process=name, quiet=True)
        if self.database:
            from gateway_project.foundation.postgres import migrate  # noqa: PLC0415 - as above

            if self.database == "migrated":
                migrate.migrate_once()
            else:
                migrate.require_migrated()
        self.run(options)

    def run(self, options: dict[str, Any]) -> None:
        """Do what the command is for."""
        raise NotImplementedError

    def write_json(self, report: Any) -> None:
        """Write a report to stdout."""
        self.stdout.write(json.dumps(report, indent=2))


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
