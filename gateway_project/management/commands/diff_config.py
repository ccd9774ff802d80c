"""Compare a document with the stored configuration."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from gateway_project.configuration.difference import Change
from gateway_project.configuration.document import InvalidConfiguration
from gateway_project.foundation.reasons import summarize_error
from gateway_project.management import configuration_file
from gateway_project.management.command import GatewayCommand
from gateway_project.management.configuration_file import ERROR_CODE
from gateway_project.management.error_text import explain_user_error
from gateway_project.management.import_file import print_problems, problems_to_json
from gateway_project.use_cases.import_configuration import compare_configuration


class Command(GatewayCommand):
    """`manage.py diff_config FILE`: exits with 0 if nothing differs, 1 if so, 2 on errors."""

    help = "Show what import_config would change; exits with 0: nothing, 1: something, 2: error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        configuration_file.add_file_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        try:
            changes = _compare(options)
        except InvalidConfiguration as refused:
            if options["json"]:
                self.write_json(problems_to_json(refused.problems, refused.count))
            else:
                print_problems(self, refused.problems, refused.count)
            message = f"{options['file']} cannot be compared"
            raise CommandError(message, returncode=ERROR_CODE) from None
        except Exception as error:  # a code of 1 would say that something differs
            message = explain_user_error(error) or summarize_error(error)
            raise CommandError(message, returncode=ERROR_CODE) from error
        if options["json"]:
            report = {
                "equal": not changes,
                "changes": [one.to_json() for one in changes],
            }
            self.write_json(report)
        else:
            configuration_file.print_changes(self.stdout, changes)
        sys.exit(1 if changes else 0)


def _compare(options: dict[str, Any]) -> Sequence[Change]:
    caller, sealer = configuration_file.prepare(options, process="diff_config")
    wanted = configuration_file.read_wanted(options["file"])
    return compare_configuration(caller, wanted, sealer=sealer)
