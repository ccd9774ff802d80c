"""Show servers, tools and embeddings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.conf import settings
from rich.markup import escape
from rich.table import Table

from gateway_project import metrics
from gateway_project.management.command import JSON, GatewayCommand, flag
from gateway_project.management.terminal import Terminal
from learning import memory_keeper
from tools import overview


class Command(GatewayCommand):
    """`manage.py status [--verbose] [--json]`."""

    help = "Show the registered servers, their tools and last errors, and the state of embedding."
    database = "current"
    arguments = (
        flag("--verbose", "show times, trust, and failing servers' last output"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        state = overview.load_overview() | {"memory": _load_memory()}
        if options["json"]:
            self.write_json(state)
            return
        console = Terminal()
        if state["servers"]:
            console.print(_make_table(state["servers"], verbose=options["verbose"]))
            for server in state["servers"]:
                if server["last_error"]:
                    console.print(f"[red]last error[/red] {_format_error(server)}")
                    _show_output(console, server, verbose=options["verbose"])
        else:
            console.print("No servers yet: `manage.py import_servers --from FILE` adds some.")
        if waiting := sum(row["quarantined"] + row["pending"] for row in state["servers"]):
            console.print(f"{waiting} tools wait for approval: `manage.py approve_tools`")
        database, embedding = state["database"], state["embedding"]
        console.print(
            f"Database: {database['kind']} PostgreSQL {database['version']}, "
            f"{database['bytes'] / 1e6:.0f} MB\n"
            f"Embedded: {embedding['embedded']} of {embedding['tools']} tools "
            f"by {embedding['model']}\n"
            f"{_format_memory(state['memory'])}"
        )
        for problem in state["memory"]["problems"]:
            console.print(f"[yellow]memory[/yellow] {escape(problem)}")


def _load_memory() -> dict[str, Any]:
    dropped = metrics.load_total("foregate_events_total", outcome="dropped")
    return asdict(memory_keeper.load_state(settings.FOREGATE)) | {"dropped": int(dropped)}


def _format_memory(memory: dict[str, Any]) -> str:
    dropped = f"; {memory['dropped']:,} were dropped" if memory["dropped"] else ""
    events = "1 event" if memory["events"] == 1 else f"{memory['events']:,} events"
    return (
        f"Memory: {events}, {memory['bytes'] / 1e6:.1f} MB; "
        f"{memory['spool_bytes'] / 1e6:.1f} MB in the spool{dropped}"
    )


def _show_output(console: Terminal, server: dict[str, Any], *, verbose: bool) -> None:
    lines = server["last_output"]
    if verbose:
        for line in lines:
            console.print(f"  | {escape(line)}")
    elif len(lines) > 1:
        console.print(f"  `status --verbose` shows its last {len(lines)} lines")


def _make_table(servers: list[dict[str, Any]], *, verbose: bool) -> Table:
    headings = ["server", "tools", "state"]
    if verbose:
        headings += ["trusted", "discovered", "last connected"]
    table = Table(*headings, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for server in servers:
        row = [server["name"], str(server["usable"]), _format_state(server)]
        if verbose:
            row += [
                "yes" if server["trusted"] else "no",
                _format_minute(server["discovered_at"]),
                _format_minute(server["last_connected_at"]),
            ]
        table.add_row(*(escape(cell) for cell in row))
    return table


def _format_error(server: dict[str, Any]) -> str:
    since, retry_at = server["failing_since"], server["retry_at"]
    times = [f"since {_format_minute(since)}"] if since else []
    times += [f"next attempt at {_format_minute(retry_at)}"] if retry_at else []
    return escape(server["last_error"] + (f" ({'; '.join(times)})" if times else ""))


def _format_state(server: dict[str, Any]) -> str:
    if not server["enabled"]:
        return str(server["state"])
    parts = [str(server["state"])]
    parts += [f"{server[key]} {key}" for key in ("quarantined", "pending") if server[key]]
    return ", ".join(parts)


def _format_minute(at: str | None) -> str:
    return at[:16].replace("T", " ") if at else "never"
