"""Apply a document to the stored configuration."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from gateway_project.configuration.document import InvalidConfiguration
from gateway_project.management import configuration_file
from gateway_project.management.command import GatewayCommand
from gateway_project.management.import_file import print_problems, problems_to_json
from gateway_project.use_cases.import_configuration import (
    ImportedConfiguration,
    ImportInProgress,
    import_configuration,
)
from tools.hidden_text import reveal_hidden


class Command(GatewayCommand):
    """`manage.py import_config FILE [--dry-run] [--prune]`."""

    help = "Apply a document that export_config wrote: all of it or, on errors, nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        configuration_file.add_file_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="show what would change")
        parser.add_argument(
            "--prune",
            action="store_true",
            help="remove what the document's sections do not hold; without it, nothing is removed",
        )

    def run(self, options: dict[str, Any]) -> None:
        caller, sealer = configuration_file.prepare(options, process="import_config")
        try:
            imported = import_configuration(
                caller,
                configuration_file.read_wanted(options["file"]),
                sealer=sealer,
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
        configuration_file.print_changes(self.stdout, imported.changes)
        for line in imported.conflicts:
            self.stderr.write(reveal_hidden(line), self.style.WARNING)
        self.stdout.write(
            f"{len(imported.changes):,} changed, {len(imported.conflicts):,} skipped, "
            f"{len(imported.left):,} not in the document and left alone"
            + ("; nothing was stored" if imported.dry_run else "")
        )
