"""Look at tools that wait for approval, and approve them."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape

from gateway_project.access import callers
from gateway_project.foundation.postgres import migrate
from gateway_project.management import question
from gateway_project.use_cases.approve_tools import approve_tools
from tools import comparison, scan
from tools.definition import Definition, differences
from tools.store import approvals
from tools.store.approvals import Awaiting

STYLES = {"+": "green", "-": "red"}


class Command(BaseCommand):
    """`manage.py approve_tools [TOOL …] [--server NAME] [--all]`."""

    help = "Show tools that wait for approval with what changed, and approve them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tools", nargs="*", metavar="TOOL", help="ids such as server:tool")
        parser.add_argument("--server", metavar="NAME", help="only this server's")
        parser.add_argument("--all", action="store_true", help="approve all that wait")
        parser.add_argument("--yes", action="store_true", help="approve without asking")
        parser.add_argument("--dry-run", action="store_true", help="only show")
        parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="who approves")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if migrate.pending_migrations():
            raise CommandError("the database is not migrated; run `manage.py migrate`")
        chosen = _chosen(options)
        console = Console(highlight=False, soft_wrap=True, stderr=options["json"])
        for item in chosen:
            _show(console, item)
        named = bool(options["tools"] or options["server"] or options["all"])
        approved = self._approve(chosen, options) if named and chosen else ()
        if options["json"]:
            self.stdout.write(json.dumps(_report(chosen, approved, options), indent=2))
        elif not chosen:
            self.stdout.write("No tool waits for approval.")
        elif not named:
            self.stdout.write("Next: manage.py approve_tools TOOL …, --server NAME or --all")
        elif not options["dry_run"]:
            self.stdout.write(f"{len(approved)} of {len(chosen)} tools approved.")

    def _approve(self, chosen: Sequence[Awaiting], options: dict[str, Any]) -> tuple[str, ...]:
        if options["dry_run"] or not (options["yes"] or _agreed(len(chosen))):
            return ()
        callers.ensure_local_admin()
        caller = callers.for_user(options["user"], kind="command")
        user = get_user_model().objects.get(username=options["user"])
        if not user.is_superuser and not user.has_perm("tools.change_tool"):
            raise CommandError(f"{options['user']!r} may not approve tools; name who may")
        shown = {item.pk: item.listed_hash for item in chosen}
        return approve_tools(caller, approvals.rows(chosen), user=user, shown=shown)


def _agreed(count: int) -> bool:
    if not question.at_terminal():
        raise CommandError("nobody is there to confirm; add --yes, or --dry-run to look")
    return question.agreed(f"Approve {count} as shown? [y/N] ")


def _chosen(options: dict[str, Any]) -> tuple[Awaiting, ...]:
    server, wanted = options["server"], list(dict.fromkeys(options["tools"]))
    if server is not None and not approvals.is_server(server):
        raise CommandError(f"no server {server!r}; `manage.py status` lists them")
    waiting = {item.tool: item for item in approvals.queue(server=server)}
    if missing := [tool for tool in wanted if tool not in waiting]:
        raise CommandError(
            f"not waiting for approval: {', '.join(missing)}; without arguments the command lists "
            "what is"
        )
    return tuple(waiting[tool] for tool in wanted) if wanted else tuple(waiting.values())


def _show(console: Console, item: Awaiting) -> None:
    console.print(f"[bold]{escape(item.tool)}[/bold] {item.state}")
    for finding in item.findings:
        color = "red" if finding["severity"] == scan.SEVERE else "yellow"
        console.print(f"  [{color}]{escape(scan.describe(finding))}[/{color}]")
    old = item.approved or Definition(name=item.listed.name)
    for line in comparison.as_lines(old, item.listed):
        style = STYLES.get(line[:1])
        console.print(f"    {escape(line)}", style=style)


def _report(
    chosen: Sequence[Awaiting], approved: Sequence[str], options: dict[str, Any]
) -> dict[str, Any]:
    return {
        "dry_run": options["dry_run"],
        "tools": [
            {
                "tool": item.tool,
                "state": item.state,
                "definition": item.listed_hash,
                "changed": list(
                    differences(item.approved or Definition(name=item.listed.name), item.listed)
                ),
                "findings": [dict(finding) for finding in item.findings],
                "approved": item.tool in approved,
            }
            for item in chosen
        ],
    }
