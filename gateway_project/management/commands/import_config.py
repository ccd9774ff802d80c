"""Apply a document to the stored configuration."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.configuration.document import MAX_BYTES, InvalidConfiguration, read_document
from gateway_project.foundation import sealing
from gateway_project.management.command import (
    JSON,
    GatewayCommand,
    argument,
    flag,
    load_command_user,
)
from gateway_project.management.files import print_problems, problems_to_json, read_content
from gateway_project.use_cases.import_configuration import (
    ImportedConfiguration,
    ImportInProgress,
    import_configuration,
)
from tools.hidden_text import reveal_hidden


class Command(GatewayCommand):
    """`manage.py import_config FILE [--dry-run] [--prune]`."""

    help = "Apply a document that export_config wrote: all of it or, on errors, nothing."

    database = "current"
    logs = True
    arguments = (
        argument("file", "as export_config writes it; - reads stdin", "FILE"),
        argument("--user", "superuser who does it", default=callers.LOCAL_ADMIN),
        JSON,
        flag("--dry-run", "show what would change"),
        flag(
            "--prune",
            "remove what the document's sections do not hold; without it, nothing is removed",
        ),
    )

    def run(self, options: dict[str, Any]) -> None:
        caller = load_command_user(options["user"])
        try:
            imported = import_configuration(
                caller,
                read_document(read_content(options["file"], max_bytes=MAX_BYTES)),
                sealer=sealing.load_or_create_sealer(settings.FOREGATE.home),
                prune=options["prune"],
                dry_run=options["dry_run"],
            )
        except InvalidConfiguration as refused:
            if options["json"]:
                report = {"imported": False, **problems_to_json(refused.problems, refused.count)}
                self.write_json(report)
            else:
                print_problems(self, refused.problems, refused.count)
            raise CommandError(f"nothing was imported from {options['file']}") from None
        except ImportInProgress as error:
            raise CommandError(str(error)) from None
        self._print_report(imported, as_json=options["json"])

    def _print_report(self, imported: ImportedConfiguration, *, as_json: bool) -> None:
        if as_json:
            report = imported.to_json() | {"dry_run": imported.dry_run}
            self.write_json(report)
            return
        for change in imported.changes:
            self.stdout.write(reveal_hidden(change.describe()))
        for line in imported.conflicts:
            self.stderr.write(reveal_hidden(line), self.style.WARNING)
        self.stdout.write(
            f"{len(imported.changes):,} changed, {len(imported.conflicts):,} skipped, "
            f"{len(imported.left):,} not in the document and left alone"
            + ("; nothing was stored" if imported.dry_run else "")
        )
