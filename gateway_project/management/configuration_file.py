"""The file, the user and the report of commands that treat configuration as code."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any, Final

from django.conf import settings
from django.core.management.base import OutputWrapper

from gateway_project.access import callers
from gateway_project.configuration.difference import Change
from gateway_project.configuration.document import (
    MAX_BYTES,
    Document,
    read_document,
)
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from gateway_project.management.import_file import read_content
from tools.hidden_text import reveal_hidden

ERROR_CODE: Final = 2
"""Exit code of a comparison that could not be made, as of `diff`."""


def add_file_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of a command that reads a document."""
    parser.add_argument("file", metavar="FILE", help="as export_config writes it; - reads stdin")
    parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="superuser who does it")
    parser.add_argument("--json", action="store_true", help="report as JSON")


def prepare(options: dict[str, Any], *, process: str) -> tuple[Caller, Sealer]:
    """Return the user of a command, and what opens and seals secrets.

    Raises:
        SchemaMismatch: If the database is not migrated, or too far.
        UnknownUser: If there is no active user of that name.
    """
    migrate.require_migrated()
    telemetry.configure_logging(settings.FOREGATE, process=process, quiet=True)
    callers.ensure_local_admin()
    caller = callers.caller_for_user(options["user"], kind="command")
    return caller, sealing.load_or_create_sealer(settings.FOREGATE.home)


def read_wanted(file: str) -> Document:
    """Read a document from a file or stdin.

    Raises:
        CommandError: If it cannot be read.
        InvalidConfiguration: If it is not a valid document.
    """
    return read_document(read_content(file, max_bytes=MAX_BYTES))


def print_changes(stdout: OutputWrapper, changes: Iterable[Change]) -> None:
    """Print a line on each change."""
    for change in changes:
        stdout.write(reveal_hidden(change.describe()))
