"""List the tools of every server and make them searchable."""

from __future__ import annotations

import asyncio
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.management.command import JSON, GatewayCommand, argument, flag
from gateway_project.management.embedding import embed_changed
from gateway_project.management.terminal import Terminal
from gateway_project.use_cases.refresh_catalogue import CatalogueRefresh, refresh_catalogue
from tools.discover import DiscoveryResult


class Command(GatewayCommand):
    """`manage.py discover [SERVER …]`."""

    help = "Ask servers for their tools, store what they list, embed what changed."
    database = "migrated"
    logs = True
    arguments = (
        argument("servers", "only these servers", "SERVER", nargs="*"),
        flag("--no-embed", "skip embedding for now"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        console = Terminal(stderr=options["json"])
        refreshed = asyncio.run(
            refresh_catalogue(
                settings.FOREGATE,
                names=options["servers"] or None,
                on_done=lambda outcome: console.print(describe_outcome(outcome)),
            )
        )
        embedded = None if options["no_embed"] else embed_changed(console)
        if options["json"]:
            self.write_json(outcome_to_json(refreshed, embedded))
        if refreshed.unknown:
            raise CommandError(
                f"not registered or not enabled: {', '.join(refreshed.unknown)}; "
                "`manage.py status` lists the servers"
            )
        failed = sum(bool(outcome.error) for outcome in refreshed.servers)
        if failed:
            raise CommandError(
                f"{failed} of {len(refreshed.servers)} servers failed; "
                "`manage.py doctor` looks for the cause"
            )
        if not refreshed.servers:
            console.print("No servers yet: `manage.py import_servers --from FILE` adds some.")


def describe_outcome(outcome: DiscoveryResult) -> str:
    """Describe a server's outcome in one line of rich markup."""
    if outcome.error:
        return f"[red]failed[/red]  {_escape_markup(outcome.error)}"
    recorded = outcome.recorded
    assert recorded is not None  # noqa: S101 - set unless there is an error
    parts = [
        f"{len(names)} {label}"
        for label, names in (
            ("new", recorded.added),
            ("changed and quarantined", recorded.changed),
            ("restored", recorded.restored),
            ("gone", recorded.removed),
            ("waiting for approval: `manage.py approve_tools`", recorded.awaiting_approval),
        )
        if names
    ]
    detail = f" ({', '.join(parts)})" if parts else ""
    text = f"[green]ok[/green]      {outcome.server}: {outcome.tools} tools{detail}"
    text += f" in {outcome.duration_s:.1f} s"
    for warning in outcome.warnings:
        text += f"\n        [yellow]{_escape_markup(warning)}[/yellow]"
    return text


def _escape_markup(text: str) -> str:
    return text.replace("[", "\\[")


def outcome_to_json(refreshed: CatalogueRefresh, embedded: int | None) -> dict[str, Any]:
    """Return the outcome as JSON values."""
    return {
        "servers": [
            {
                "server": outcome.server,
                "ok": not outcome.error,
                "error": outcome.error,
                "tools": outcome.tools,
                "added": list(outcome.recorded.added) if outcome.recorded else [],
                "changed": list(outcome.recorded.changed) if outcome.recorded else [],
                "restored": list(outcome.recorded.restored) if outcome.recorded else [],
                "removed": list(outcome.recorded.removed) if outcome.recorded else [],
                "held": list(outcome.recorded.awaiting_approval) if outcome.recorded else [],
                "warnings": list(outcome.warnings),
                "duration_s": round(outcome.duration_s, 3),
            }
            for outcome in refreshed.servers
        ],
        "failed": sum(bool(outcome.error) for outcome in refreshed.servers),
        "unknown": list(refreshed.unknown),
        "embedded": embedded,
    }
