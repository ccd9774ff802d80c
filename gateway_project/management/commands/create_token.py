"""Create an API token for a client that connects over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from gateway_project.access import callers, grant
from gateway_project.access.grant import TokenNotGrantable
from gateway_project.access.roles import SCOPES
from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL
from gateway_project.management.command import JSON, GatewayCommand, argument, refusing

MAX_DAYS = 36_500


class Command(GatewayCommand):
    """`manage.py create_token [--user NAME] [--scope SCOPE ...] [--group NAME] [--days N]`."""

    help = "Create an API token and show it once. Clients send it as a bearer token."
    arguments = (
        argument(
            "--user",
            "user the token acts as (default: %(default)s)",
            "NAME",
            default=callers.LOCAL_ADMIN,
        ),
        argument("--name", "name that identifies it", default="command line"),
        argument(
            "--scope",
            f"scope it grants; repeatable (default: {' '.join(CLIENT_SCOPES)})",
            action="append",
            choices=(*SCOPES, SCOPE_ALL),
        ),
        argument("--team", "team it acts for (default: the user's only one)", "NAME"),
        argument(
            "--group", "tool group outside which no tool exists for it (default: none)", "NAME"
        ),
        argument("--days", "days until it expires", "N", type=int),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        days = options["days"]
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise CommandError(
                f"--days: give 1 to {MAX_DAYS}, or omit it for a token that never expires"
            )
        if options["user"] == callers.LOCAL_ADMIN:
            callers.ensure_local_admin()
        with refusing(TokenNotGrantable):
            made = grant.create_user_token(
                options["user"],
                name=options["name"],
                scopes=tuple(dict.fromkeys(options["scope"] or CLIENT_SCOPES)),
                team=options["team"],
                group=options["group"],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        if options["json"]:
            self.write_json(made.as_json())
            return
        self.stdout.write(made.token)
        self.stderr.write(
            f"It acts as {made.user} ({', '.join(made.scopes)}) and is not shown again."
        )
