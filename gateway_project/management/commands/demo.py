"""Set everything up and demonstrate the gateway on real MCP servers."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.console import on_demand, serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.demo import servers
from gateway_project.demo.servers import DemoNotInstalled
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.management.command import GatewayCommand, flag, refusing
from gateway_project.management.commands.discover import describe_outcome
from gateway_project.management.embedding import embed_changed
from gateway_project.management.terminal import Terminal
from gateway_project.use_cases.curate_servers import register_servers
from gateway_project.use_cases.refresh_catalogue import refresh_catalogue
from tools.store import catalogue, overview

PIPED_WIDTH = 120
SEPARATE_HOME_NOTE = (
    "You have registered servers. The demonstration leaves them alone and uses its own data "
    "folder; to inspect it afterwards, set FOREGATE_HOME={home}"
)
FAILURE_NOTE = "the demonstration failed: {parts}; {home}/logs holds what the gateway logged"


class Command(GatewayCommand):
    """`manage.py demo [--serve]`."""

    help = "Connect public MCP servers, search and call through the gateway, show the savings."
    requires_system_checks: list[str] = []
    arguments = (
        flag("--serve", "serve the console afterwards"),
        flag("--json", "report the figures as JSON"),
    )

    def run(self, options: dict[str, Any]) -> None:
        config = settings.FOREGATE
        width = None if sys.stdout.isatty() else PIPED_WIDTH
        console = Terminal(stderr=options["json"], width=width)
        # Bound first, so that a port in use is reported before the work, not after it.
        listener = _open_console_socket() if options["serve"] else None
        telemetry.configure_logging(config, process="demo", quiet=True)
        console.print("[bold]Foregate[/bold] prepares its database")
        with refusing(DemoNotInstalled), servers.install_beside(settings.BASE_DIR):
            migrate.migrate_once()
            callers.ensure_local_admin()
        # Recorded first: an error, an interruption or a kill ends it without another word.
        servers.record_failure(config.home, servers.UNFINISHED)
        if overview.list_server_names(but_from=[servers.DEMO_SOURCE]):
            failed = _demonstrate_separately(console, as_json=options["json"])
        else:
            report = self._demonstrate(console)
            failed = servers.list_failures(report)
            if options["json"]:
                self.write_json(report)
        servers.record_failure(config.home, ", ".join(failed))
        note = FAILURE_NOTE.format(parts=", ".join(failed), home=config.home)
        if listener is not None:
            telemetry.configure_logging(config, process="console")
            if failed:
                console.print(f"\n{note}", style="red", markup=False)
            console.print(f"\n[bold]Console[/bold] {serve.console_url(config)}")
            console.print(callers.describe_sign_in(), markup=False)
            serve.serve_console(listener)
        if failed:
            raise CommandError(note)

    def _demonstrate(self, console: Terminal) -> dict[str, Any]:
        config = settings.FOREGATE
        _register_demo_servers()
        console.print("\n[bold]It asks every server for its tools[/bold], all at once")
        asyncio.run(
            refresh_catalogue(
                config, on_done=lambda listed: console.print(describe_outcome(listed))
            )
        )
        console.print("\n[bold]It loads the embedding model[/bold], built at the first use")
        embed_changed(console)
        # Imported here: the SDK takes most of a second to load.
        from gateway_project.demo import demonstration, speculation

        repository = servers.prepare_repository(settings.BASE_DIR, config.home)
        files = config.home / "demo" / "files"
        tried = demonstration.DemoPlan(
            steps=demonstration.build_steps(repository=repository, files=files),
            task_text=demonstration.describe_task(repository),
            workflow=demonstration.build_workflow(repository=repository, files=files),
        )
        console.print("\n[bold]A gateway starts[/bold], as a client would start it")
        result = demonstration.run_demonstration(
            console, settings.BASE_DIR, tried, user=speculation.prepare_user()
        )
        ahead = speculation.show_speculation(
            console,
            settings.BASE_DIR,
            speculation.build_plan(
                repository=repository, files=files, set_trust=_make_trust_setter()
            ),
        )
        tools = [tool for tool in catalogue.load_catalogue().tools.values() if tool.is_usable]
        report = _report_savings(
            console, result, sum(tool.token_count for tool in tools), len(tools)
        )
        return report | {"speculation": asdict(ahead)}


def _open_console_socket() -> socket.socket:
    on_demand.stop_conflicting_console(settings.FOREGATE)
    with refusing(PortUnavailable):
        return serve.open_socket(settings.FOREGATE)


def _demonstrate_separately(console: Terminal, *, as_json: bool) -> list[str]:
    """Run the demonstration in its own home and database; return what failed.

    Its servers may have the names of a person's own, and its runs would teach what that person's
    suggestions are made from.
    """
    home = settings.FOREGATE.home / "demo" / "home"
    console.print(SEPARATE_HOME_NOTE.format(home=shlex.quote(str(home))), markup=False)
    environ = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    home.mkdir(mode=0o711, parents=True, exist_ok=True)
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "demo"]
    done = subprocess.run(
        [*command, "--json"] if as_json else command,
        env=environ | {"FOREGATE_HOME": str(home)},
        check=False,
    )
    return [f"the one in {home}"] if done.returncode else []


def _register_demo_servers() -> None:
    """Register the demonstration's servers."""
    config = settings.FOREGATE
    with refusing(DemoNotInstalled):
        wanted = servers.build_registrations(settings.BASE_DIR, config.home)
    register_servers(
        callers.caller_for_user(callers.LOCAL_ADMIN, kind="command"),
        wanted,
        sealer=sealing.load_or_create_sealer(config.home),
    )


def _make_trust_setter() -> Callable[[bool], None]:
    """Return what trusts the demonstration's servers, or takes that back.

    Those that a person trusts already stay trusted.
    """
    config = settings.FOREGATE
    known = catalogue.load_catalogue().servers
    untrusted = [
        one
        for one in servers.build_registrations(settings.BASE_DIR, config.home)
        if not known[one.name].trusted
    ]

    def set_trust(is_trusted: bool) -> None:
        register_servers(
            callers.caller_for_user(callers.LOCAL_ADMIN, kind="command"),
            [replace(one, trusted=is_trusted) for one in untrusted],
            sealer=sealing.load_or_create_sealer(config.home),
        )

    return set_trust


def _report_savings(console: Terminal, result: Any, all_tokens: int, tools: int) -> dict[str, Any]:
    from gateway_project.demo.demonstration import CONTEXT_WINDOW

    used = result.meta_tokens + result.search_tokens
    console.print(
        f"\n[bold]Tokens[/bold] listing all {tools} tools: {all_tokens:,} "
        f"({all_tokens / CONTEXT_WINDOW:.2%} of a {CONTEXT_WINDOW:,} window); "
        f"the gateway's {len(result.listed)} tools: {result.meta_tokens:,} "
        f"({result.meta_tokens / CONTEXT_WINDOW:.2%}), a search answer: {result.search_tokens:,}; "
        f"saved before the first call: {1 - used / all_tokens:.0%}"
    )
    return {
        "tools": tools,
        "all_tokens": all_tokens,
        "meta_tokens": result.meta_tokens,
        "search_tokens": result.search_tokens,
        "first_list_s": round(result.first_list_s, 3),
        "intents": result.intents,
        "found": result.found,
        "called": result.called,
        "relations": result.relations,
        "suggested": result.suggested,
        "ran": result.ran,
        "speed_up": round(result.speed_up, 2),
    }
