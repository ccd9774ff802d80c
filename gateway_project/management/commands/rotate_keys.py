"""Rotate the keys that seal stored values."""

from __future__ import annotations

import dataclasses
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from django.conf import settings

from gateway_project.access import callers
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.management.command import GatewayCommand, refusing

if TYPE_CHECKING:
    from gateway_project.use_cases.rotate_keys import KeyRotation


class Command(GatewayCommand):
    """`manage.py rotate_keys [--remove-old | --lost] [--json]`."""

    help = (
        "Make new keys and seal every stored secret, payload and what was learned with them. "
        "Gateways keep running. If it is interrupted, run it again: it goes on. The replaced keys "
        "still open values until --remove-old; copy the keys folder to every other machine of "
        "the installation before."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument(
            "--remove-old",
            action="store_true",
            help="seal what is left again and remove the replaced keys, at the earliest an hour "
            "after the rotation",
        )
        choice.add_argument(
            "--lost",
            action="store_true",
            help="the keys are lost and there is no backup: make new ones. What was sealed stays "
            "unreadable; enter the secrets again",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def run(self, options: dict[str, Any]) -> None:
        from gateway_project.use_cases.rotate_keys import rotate_keys

        config = settings.FOREGATE
        telemetry.configure_logging(config, process="rotate_keys", quiet=True)
        migrate.migrate_once()
        if options["lost"]:
            self._replace_lost_keys(options)
            return
        callers.ensure_local_admin()
        caller = callers.caller_for_user(callers.LOCAL_ADMIN, kind="command")
        with refusing(sealing.OldKeysNeeded):
            done = [
                rotate_keys(caller, config.home, keys=keys, removes_old=options["remove_old"])
                for keys in sealing.KEY_NAMES
                if not options["remove_old"] or sealing.count_keys(config.home, name=keys) > 1
            ]
        if options["json"]:
            self.write_json([dataclasses.asdict(one) for one in done])
            return
        for one in done:
            self.stdout.write(_describe(one))
        if any(one.removed for one in done):
            self.stdout.write(
                "Older backups of the database need the older keys: make a new backup now, and "
                "keep the copies of the old keys as long as the old backups."
            )
        if not done:
            self.stdout.write("There are no old keys.")

    def _replace_lost_keys(self, options: Any) -> None:
        home = settings.FOREGATE.home
        made = [keys for keys in sealing.KEY_NAMES if sealing.replace_lost_keys(home, name=keys)]
        if options["json"]:
            self.write_json([{"keys": keys, "is_new": True} for keys in made])
        elif made:
            files = " and ".join(f"keys/{keys}.keys" for keys in made)
            self.stdout.write(
                f"{files}: a new key is made. `manage.py doctor` lists the servers whose secrets "
                "must be entered again."
            )
        else:
            self.stdout.write("No key file is missing; nothing is changed.")


def _describe(done: KeyRotation) -> str:
    began = "a new key is made" if done.is_new else "no new key is made, older ones are still kept"
    if done.removed:
        began = f"{done.removed} old keys removed"
    lost = ", ".join(f"{count} in {table}" for table, count in sorted(done.unreadable.items()))
    return (
        f"keys/{done.keys}.keys: {began}; {done.resealed} values sealed again"
        f"{f'; no key opens {lost}' if lost else ''}."
    )
