"""Compare a document with the stored configuration."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.configuration.difference import Change
from gateway_project.configuration.document import MAX_BYTES, InvalidConfiguration, read_document
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.reasons import summarize_error
from gateway_project.management.command import JSON, GatewayCommand, argument
from gateway_project.management.error_text import explain_user_error
from gateway_project.management.files import print_problems, problems_to_json, read_content
from gateway_project.use_cases.import_configuration import compare_configuration
from tools.hidden_text import reveal_hidden

ERROR_CODE: Final = 2
"""Exit code of a comparison that could not be made, as of `diff`."""


class Command(GatewayCommand):
    """`manage.py diff_config FILE`: exits with 0 if nothing differs, 1 if so, 2 on errors."""

    help = "Show what import_config would change; exits with 0: nothing, 1: something, 2: error."

    arguments = (
        argument("file", "as export_config writes it; - reads stdin", "FILE"),
        argument("--user", "superuser who does it", default=callers.LOCAL_ADMIN),
        JSON,
    )

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
            for change in changes:
                self.stdout.write(reveal_hidden(change.describe()))
        sys.exit(1 if changes else 0)


def _compare(options: dict[str, Any]) -> Sequence[Change]:
    migrate.require_migrated()
    telemetry.configure_logging(settings.FOREGATE, process="diff_config", quiet=True)
    callers.ensure_local_admin()
    caller = callers.caller_for_user(options["user"], kind="command")
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    wanted = read_document(read_content(options["file"], max_bytes=MAX_BYTES))
    return compare_configuration(caller, wanted, sealer=sealer)
