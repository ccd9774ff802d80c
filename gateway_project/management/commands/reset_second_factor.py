"""Remove the second factor of a user who has lost it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from gateway_project.access.callers import UnknownUser
from gateway_project.management.command import GatewayCommand, argument, refusing


class Command(GatewayCommand):
    """`manage.py reset_second_factor USER`."""

    help = (
        "Remove the authenticator app and the recovery codes of a user who has lost them. They "
        "sign in with their password alone then, and set up new ones if their role needs it."
    )
    database = "migrated"
    logs = True
    arguments = (argument("user", "name of the user", "USER"),)

    def run(self, options: dict[str, Any]) -> None:
        from gateway_project.access import second_factor

        with refusing(UnknownUser):
            removed = second_factor.reset_second_factor(options["user"])
        if not removed:
            raise CommandError(f"{options['user']} has no second factor")
        self.stdout.write(f"The second factor of {options['user']} is removed.")
