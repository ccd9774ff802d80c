"""Export the configuration as one document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.configuration.document import write_document
from gateway_project.foundation import sealing
from gateway_project.management.command import (
    GatewayCommand,
    argument,
    flag,
    load_command_user,
)
from gateway_project.use_cases.import_configuration import export_configuration


class Command(GatewayCommand):
    """`manage.py export_config [FILE] [--variables]`."""

    help = "Export servers, relations, dangerous operations, grants, roles … without secrets."
    database = "current"
    logs = True
    arguments = (
        argument("file", "default: stdout", "FILE", nargs="?", default="-"),
        flag(
            "--variables",
            "write ${NAME} in place of secrets, for another installation; without it, an "
            "import keeps what is stored",
        ),
        argument("--user", "superuser who exports", default=callers.LOCAL_ADMIN),
    )

    def run(self, options: dict[str, Any]) -> None:
        caller = load_command_user(options["user"])
        sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
        document = export_configuration(caller, sealer=sealer, with_variables=options["variables"])
        text = write_document(document)
        if options["file"] == "-":
            self.stdout.write(text, ending="")
            return
        try:
            Path(options["file"]).write_text(text, "utf-8")
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be written: {error.strerror}") from None
        count = sum(len(entries) for entries in document.values())
        self.stdout.write(f"{count:,} entries written to {options['file']}")
