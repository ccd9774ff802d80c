"""Set everything up and show the gateway at work on real MCP servers."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from gateway_project import demo_servers
from gateway_project.access import callers
from gateway_project.console import serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.demo_servers import DemoIncomplete
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.management.commands.discover import line
from gateway_project.management.embedding import embed_changed
from gateway_project.use_cases.refresh_catalogue import refresh_catalogue
from gateway_project.use_cases.register_servers import register_servers
from tools.store import catalogue, overview

PIPED_WIDTH = 120
OUTRANKED = (
    "\n[yellow]For {outranked} of {intents} intents, tools of your other servers fitted better "
    "than the demonstration's own.[/yellow]\nTo see it by itself, give it a data folder of its "
    "own: FOREGATE_HOME=~/.foregate-demo make run"
)


class Command(BaseCommand):
    """`manage.py demo [--serve]`."""

    help = "Connect public MCP servers, search and call through the gateway, show the savings."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--serve", action="store_true", help="serve the console afterwards")
        parser.add_argument("--json", action="store_true", help="report the figures as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        config = settings.FOREGATE
        width = None if sys.stdout.isatty() else PIPED_WIDTH
        console = Console(stderr=options["json"], highlight=False, soft_wrap=True, width=width)
        # Bound first: a port in use should be said before the work, not after it.
        listener = _listen() if options["serve"] else None
        telemetry.configure(config, process="demo", quiet=True)
        console.print("[bold]Foregate[/bold] prepares its database")
        migrate.migrate_once()
        callers.ensure_local_admin()
        report = self._demonstrate(console)
        if options["json"]:
            self.stdout.write(json.dumps(report, indent=2))
        if report["outranked"]:
            console.print(OUTRANKED.format(**report), markup=True)
        if _has_failed(report) and listener is None:
            raise CommandError(
                "an intent or the workflow failed; `manage.py doctor` looks for the cause"
            )
        if listener is not None:
            telemetry.configure(config, process="console")
            console.print(f"\n[bold]Console[/bold] {serve.address(config)}")
            console.print(callers.sign_in_line(), markup=False)
            serve.serve(listener)

    def _demonstrate(self, console: Console) -> dict[str, Any]:
        config = settings.FOREGATE
        _register(console)
        console.print("\n[bold]It asks every server for its tools[/bold], all at once")
        asyncio.run(
            refresh_catalogue(config, on_done=lambda outcome: console.print(line(outcome)))
        )
        embed_changed(console)
        # Imported here: the SDK takes most of a second, and only now is it needed.
        from gateway_project import demonstration

        repository = demo_servers.repository(settings.BASE_DIR, config.home)
        files = config.home / "demo" / "files"
        tried = demonstration.Tried(
            steps=demonstration.steps(repository=repository, files=files),
            whole=demonstration.task(repository),
            workflow=demonstration.workflow(repository=repository, files=files),
        )
        shown = demonstration.show(console, settings.BASE_DIR, tried)
        tools = [tool for tool in catalogue.load().tools.values() if tool.usable]
        return _savings(console, shown, sum(tool.token_count for tool in tools), len(tools))


def _has_failed(report: dict[str, Any]) -> bool:
    """Whether something did not work; that other servers' tools fit better is no failure."""
    seen = report["found"] + report["outranked"]
    worked = report["suggested"] and report["ran"]
    return min(seen, report["called"]) < report["intents"] or not worked


def _listen() -> socket.socket:
    try:
        return serve.open_socket(settings.FOREGATE)
    except PortUnavailable as error:
        raise CommandError(str(error)) from None


def _register(console: Console) -> None:
    """Register the demonstration's servers; a server of the same name that a person made stays."""
    config = settings.FOREGATE
    try:
        wanted = demo_servers.registrations(settings.BASE_DIR, config.home)
    except DemoIncomplete as error:
        raise CommandError(str(error)) from None
    own = overview.names(but_from=[demo_servers.SOURCE])
    for name in sorted(own & {item.name for item in wanted}):
        console.print(f"[yellow]keeping your own server {name!r}[/yellow]")
    register_servers(
        callers.for_user(callers.LOCAL_ADMIN, kind="command"),
        [item for item in wanted if item.name not in own],
        sealer=sealing.load_or_create(config.home),
    )


def _savings(console: Console, shown: Any, all_tokens: int, tools: int) -> dict[str, Any]:
    from gateway_project.demonstration import CONTEXT_WINDOW

    used = shown.meta_tokens + shown.search_tokens
    console.print(
        f"\n[bold]Tokens[/bold] listing all {tools} tools: {all_tokens:,} "
        f"({all_tokens / CONTEXT_WINDOW:.2%} of a {CONTEXT_WINDOW:,} window); "
        f"the gateway's {len(shown.listed)} tools: {shown.meta_tokens:,} "
        f"({shown.meta_tokens / CONTEXT_WINDOW:.2%}), a search answer: {shown.search_tokens:,}; "
        f"saved before the first call: {1 - used / all_tokens:.0%}"
    )
    return {
        "tools": tools,
        "all_tokens": all_tokens,
        "meta_tokens": shown.meta_tokens,
        "search_tokens": shown.search_tokens,
        "first_list_s": round(shown.first_list_s, 3),
        "intents": shown.intents,
        "found": shown.found,
        "outranked": shown.outranked,
        "called": shown.called,
        "relations": shown.relations,
        "suggested": shown.suggested,
        "ran": shown.ran,
        "speed_up": round(shown.speed_up, 2),
    }
