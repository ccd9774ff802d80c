"""Ask a gateway over real servers' tools for everyday wishes.

    python -m benchmarks.outside --half open|kept|all|blind [--json]

The first run installs the pinned servers and records what they list, without network, in a cache
folder. Each run then has a new data folder: a configuration file with all servers is imported,
they are discovered and embedded, and a gateway process is asked by an MCP client over stdio, one
wish after another: `search_tools`, then `run_intent` with mode `suggest`. No tool of a server is
called, and nothing has been learned before.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks import document
from benchmarks.outside import report, servers, wishes
from benchmarks.scratch_home import scratch_home

LIVE_CONNECT_TIMEOUT_S = 300.0
"""Dozens of servers start at once."""
CACHE = Path.home() / ".cache" / "foregate-outside"
BLIND_CACHE = Path.home() / ".cache" / "foregate-outside-blind"
BASE = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    """Measure a half of the wishes, both, or the blind set, and print a table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=sorted(wishes.HALVES), default="open")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument(
        "--details", action="store_true", help="also list each wish, of the open half only"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="the gateway starts the real servers, not servers that replay their lists",
    )
    parser.add_argument("--cache", type=Path, help="folder of installed servers")
    arguments = parser.parse_args()
    arguments.cache = arguments.cache or (BLIND_CACHE if arguments.half == "blind" else CACHE)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    chosen = wishes.load_wishes(arguments.half)
    pinned = servers.load_servers(arguments.half)
    recording = servers.load_recording(pinned, arguments.cache, _tell)
    with scratch_home() as home:
        verdicts = _measure(home, chosen, recording, arguments)
    figures = report.summarize(verdicts)
    tools = sum(len(recorded["tools"]) for recorded in recording.values())
    if arguments.json:
        answer = {"asked": arguments.half, "servers": len(recording), "tools": tools, **figures}
        if arguments.details:
            answer["verdicts"] = report.list_verdicts(verdicts)
        print(json.dumps(answer, indent=1, ensure_ascii=False))
        return
    print(f"{report.render_table(figures)}\n")
    if arguments.details:
        for row in report.list_verdicts(verdicts):
            print(json.dumps(row, ensure_ascii=False))
    print(f"{len(recording)} servers with {tools} tools, {arguments.half}. {document.stamp()}")


def _measure(
    home: Path,
    chosen: tuple[wishes.Wish, ...],
    recording: Mapping[str, Any],
    arguments: argparse.Namespace,
) -> list[Any]:
    if arguments.live:
        os.environ["FOREGATE_CONNECT_TIMEOUT_S"] = str(LIVE_CONNECT_TIMEOUT_S)
    import django

    django.setup()
    from benchmarks.outside import ask, score

    config = home / "servers.json"
    config.write_text(json.dumps({"mcpServers": _write_entries(arguments)}))
    config.chmod(0o600)
    _fill_catalogue(config, recording)
    _tell(f"asking for {len(chosen)} wishes")
    parameters = {
        f"{server}:{tool['name']}": frozenset(tool["inputSchema"].get("properties", {}))
        for server, recorded in recording.items()
        for tool in recorded["tools"]
    }
    answers = ask.ask_gateway(chosen)
    return [
        score.judge(wish, answer, parameters) for wish, answer in zip(chosen, answers, strict=True)
    ]


def _write_entries(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the servers as in a client's configuration file."""
    cache, live = arguments.cache, arguments.live
    entries: dict[str, Any] = {}
    for server in servers.load_servers(arguments.half):
        if live:
            servers.install(server, cache)
            command, env = servers.get_launch(server, cache)
        else:
            replay = ["-m", "benchmarks.outside.recorded_server", str(cache / "recorded.json")]
            command, env = [sys.executable, *replay, server.name], {}
        entries[server.name] = {
            "command": command[0],
            "args": command[1:],
            "env": env,
            "cwd": str(cache / "home" if live else BASE),
        }
    return entries


def _fill_catalogue(config: Path, recording: Mapping[str, Any]) -> None:
    """Import, discover and embed with the commands that a new user would use.

    Raises:
        SystemExit: If the gateway knows fewer tools of a server than it lists, or has no vectors.
    """
    from django.core.management import call_command

    output = StringIO()
    with redirect_stdout(sys.stderr):
        call_command("import_servers", origin=str(config))
        call_command("discover", json=True, stdout=output)
    discovered = json.loads(output.getvalue())
    for server in discovered["servers"]:
        listed = len(recording[server["server"]]["tools"])
        if server["tools"] < listed:
            raise SystemExit(f"{server['server']}: {server['tools']} of {listed} tools discovered")
    if discovered["embedded"] is None:
        raise SystemExit("the tools are not embedded")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
