"""Remove the second factor of a user who has lost it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gateway_project.access.callers import UnknownUser
from gateway_project.foundation import telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.management.refusals import refusing


class Command(BaseCommand):
    """`manage.py reset_second_factor USER`."""

    help = (
        "Remove the authenticator app and the recovery codes of a user who has lost them. They "
        "sign in with their password alone then, and set up new ones if their role needs it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="name of the user")

    def handle(self, *_: Any, **options: Any) -> None:
        from gateway_project.access import second_factor

        telemetry.configure_logging(settings.FOREGATE, process="reset_second_factor", quiet=True)
        migrate.migrate_once()
        with refusing(UnknownUser):
            removed = second_factor.reset_second_factor(options["user"])
        if not removed:
            raise CommandError(f"{options['user']} has no second factor")
        self.stdout.write(f"The second factor of {options['user']} is removed.")
