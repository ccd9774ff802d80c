"""The pinned servers: installed into a cache folder, started without network, listed once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.outside.wishes import FOLDER

LIST_TIMEOUT_S: Final = 120.0
PROTOCOL: Final = "2025-06-18"
_OAUTH_CLIENT: Final = {
    "client_id": "x",
    "client_secret": "x",
    "redirect_uris": ["http://localhost"],
}
_HOME_FILES: Final = {
    "oauth.json": json.dumps({"installed": _OAUTH_CLIENT}),
    "kubeconfig": json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "none", "cluster": {"server": "http://localhost:1"}}],
            "users": [{"name": "none", "user": {}}],
            "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
            "current-context": "none",
        }
    ),
}
"""Files that servers insist on; nothing in them is real."""


@dataclass(frozen=True, kw_only=True)
class OutsideServer:
    """A server of `servers.json` or `servers_blind.json`.

    Attributes:
        name: Its name in the gateway.
        registry: `npm` or `pypi`.
        package: Name of the package.
        version: The pinned version.
        also: Further packages with versions that it needs to be pinned.
        program: Its command, for a package of PyPI; `python -m MODULE` is one too.
        args: Arguments; `{home}` is the servers' home folder.
        env: Variables, placeholders.
        tools: Number of tools that it lists.
    """

    name: str
    registry: str
    package: str
    version: str
    also: tuple[str, ...] = ()
    program: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    tools: int

    @property
    def pins(self) -> tuple[str, ...]:
        """What is installed, as its registry's client takes it."""
        mark = "@" if self.registry == "npm" else "=="
        return (f"{self.package}{mark}{self.version}", *self.also)


def load_servers(half: str = "all") -> tuple[OutsideServer, ...]:
    """Return the pinned servers of a half of the wishes; the blind set has servers of its own."""
    name = "servers_blind.json" if half == "blind" else "servers.json"
    return tuple(
        OutsideServer(
            **{**row, "args": tuple(row.get("args", ())), "also": tuple(row.get("also", ()))}
        )
        for row in json.loads((FOLDER / name).read_text())
    )


def load_recording(
    pinned: Iterable[OutsideServer], cache: Path, report: Callable[[str], None]
) -> dict[str, Any]:
    """Return what each server lists; install and ask those that the cache does not know yet.

    Args:
        pinned: The servers.
        cache: Folder of the installed servers and of their recorded lists.
        report: Called with a line on each server that is installed and asked.

    Returns:
        By server: `pins`, `server_info` and `tools`.

    Raises:
        SystemExit: If a server does not list as many tools as its entry says.
    """
    path = cache / "recorded.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    recording: dict[str, Any] = {}
    for server in pinned:
        recorded = known.get(server.name)
        if recorded is None or recorded["pins"] != list(server.pins):
            install(server, cache)
            recorded = {"pins": list(server.pins), **list_tools(server, cache)}
            report(f"{server.name}: {len(recorded['tools'])} tools")
        if len(recorded["tools"]) != server.tools:
            raise SystemExit(
                f"{server.name} lists {len(recorded['tools'])} tools instead of {server.tools}"
            )
        recording[server.name] = recorded
        path.write_text(json.dumps({**known, **recording}, ensure_ascii=False))
    return recording


def install(server: OutsideServer, cache: Path) -> None:
    """Install a server in its own folder, without running scripts of packages of npm.

    Nothing happens if it is installed already.
    """
    folder = _folder(server, cache)
    marker = folder / "installed.json"
    if marker.exists() and json.loads(marker.read_text()) == list(server.pins):
        return
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    if server.registry == "npm":
        (folder / "package.json").write_text('{"private": true}')
        flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error"]
        _run(["npm", "install", "--prefix", str(folder), *flags, *server.pins])
    else:
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(folder / "bin/python"), "-m", "pip", "install", "-q", *server.pins])
    marker.write_text(json.dumps(server.pins))


def get_launch(server: OutsideServer, cache: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts a server without network, and its variables."""
    home = cache / "home"
    home.mkdir(parents=True, exist_ok=True)
    for name, content in _HOME_FILES.items():
        (home / name).write_text(content)
    folder = _folder(server, cache)
    if server.registry == "npm":
        package = folder / "node_modules" / server.package
        programs = json.loads((package / "package.json").read_text())["bin"]
        program = programs if isinstance(programs, str) else next(iter(programs.values()))
        command = ["node", str(package / program)]
    else:
        command = [str(folder / "bin" / server.program)]
    command += [argument.format(home=home) for argument in server.args]
    env = {key: value.format(home=home) for key, value in server.env.items()}
    return [*_isolate(), *command], {"HOME": str(home), **env}


def list_tools(server: OutsideServer, cache: Path) -> dict[str, Any]:
    """Start a server without network and return its `server_info` and `tools`; end it again.

    Raises:
        SystemExit: If it does not answer in time.
    """
    command, env = get_launch(server, cache)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], **env},
        cwd=cache / "home",
        start_new_session=True,
    )
    killer = threading.Timer(LIST_TIMEOUT_S, os.killpg, (process.pid, signal.SIGKILL))
    killer.start()
    try:
        return _converse(process)
    except (EOFError, BrokenPipeError):
        raise SystemExit(f"{server.name} lists no tools; try: {' '.join(command)}") from None
    finally:
        killer.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _converse(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    client = {"name": "benchmark", "version": "1"}
    greeting = _request(
        process,
        "initialize",
        {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client},
    )
    _send(process, {"method": "notifications/initialized"})
    tools: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        page = _request(process, "tools/list", cursor)
        tools += page["tools"]
        if not page.get("nextCursor"):
            return {"server_info": greeting["serverInfo"], "tools": tools}
        cursor = {"cursor": page["nextCursor"]}


def _request(
    process: subprocess.Popen[bytes], method: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    _send(process, {"id": method, "method": method, "params": params})
    assert process.stdout
    for line in process.stdout:
        try:
            message = json.loads(line)
        except ValueError:
            continue  # some servers log to stdout
        if message.get("id") == method:
            if "error" in message:
                raise EOFError
            result: dict[str, Any] = message["result"]
            return result
    raise EOFError


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def _isolate() -> list[str]:
    """Return the command before a server's that takes its network away."""
    for way in (["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]):
        if subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0:
            return [*way, "--"]
    raise SystemExit("the servers must run without network, and `unshare --net` does not work")


def _folder(server: OutsideServer, cache: Path) -> Path:
    return cache / "servers" / server.name


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-500:]}")
