"""An installation with a healthy server and one for each way of being hostile."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.journeys.gateways import BASE, PYTHON, Installation
from tests.journeys.hostile.canary import Canary
from tests.journeys.migrated import migrated_home
from tests.patience import PATIENCE_S

MARKER = "FOREGATE_UPSTREAM"
IN_ITS_LIST = ("looping_cursor", "large_schema", "deep_schema", "ref")
"""Servers that there are twice: one to be discovered so, one that is so only once armed."""


LIMIT = """
from tools.models import Server
for name, field in {limits}.items():
    assert Server.objects.filter(name=name).update(**{{field: {limit_s}}}) == 1
"""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the tests share.

    Attributes:
        installation: With all servers registered and listed.
        listed: What was said of each listing, by server.
        canary: An address nobody may connect to.
    """

    installation: Installation
    listed: dict[str, dict[str, Any]]
    canary: Canary

    @property
    def armed(self) -> Path:
        """The file on whose appearance servers turn hostile in their start and lists."""
        return self.installation.home / "armed"


@contextmanager
def set_up(stdio: Sequence[str], *, limits: Mapping[str, str], limit_s: float) -> Iterator[Stage]:
    """Register the servers.

    Args:
        stdio: What a server on stdio does, for each to have one of that name.
        limits: Servers whose time is to run out, with the field of what it is for.
        limit_s: That time; all others have more than enough.
    """
    with migrated_home() as home, Canary() as canary, _remote() as (plain, stalling):
        installation = Installation(home=home)
        stage = Stage(installation=installation, listed={}, canary=canary)
        always = home / "always"
        always.touch()
        servers: dict[str, Any] = {"healthy": _hand_written("legacy.py")}
        for does in stdio:
            servers[does] = _hostile(does, stage.armed, canary)
        for does in IN_ITS_LIST:
            servers[f"{does}_listed"] = _hostile(does, always, canary)
        for name, url in (("remote", plain), ("slow", plain), ("stalling", stalling)):
            servers[name] = {"type": "http", "url": url}
        config = home / "config.json"
        config.write_text(json.dumps({"mcpServers": servers}))
        installation.manage("import_servers", "--from", str(config))
        report = json.loads(installation.manage("discover", "--no-embed", "--json"))
        stage.listed.update({server["server"]: server for server in report["servers"]})
        installation.manage("shell", "-v0", "-c", LIMIT.format(limits=limits, limit_s=limit_s))
        stage.armed.touch()
        yield stage


def _hand_written(file: str, *options: str) -> dict[str, Any]:
    path = str(BASE / "tests" / "servers" / file)
    return {"command": PYTHON, "args": ["-S", path, *options]}


def _hostile(does: str, arm: Path, canary: Canary) -> dict[str, Any]:
    return _hand_written("hostile_stdio.py", f"does={does}", f"arm={arm}", f"canary={canary.url}")


@contextmanager
def _remote() -> Iterator[tuple[str, str]]:
    """Serve the hostile endpoints in a process that ends with our end of its pipe."""
    with subprocess.Popen(
        [PYTHON, "-m", "tests.servers.hostile_http"],
        cwd=BASE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        plain, stalling = server.stdout.readline().split()
        yield plain, stalling
        server.stdin.close()
        server.wait(timeout=PATIENCE_S)


def token_of(gateway: int) -> str:
    """Return what marks the environment of all that a gateway has started."""
    for child in psutil.Process(gateway).children(recursive=True):
        if marker := _marker(child):
            return marker.partition(".")[0]
    raise AssertionError("the gateway has started no server")


def alive(token: str, *processes: int) -> list[str]:
    """Return what is alive of all that a gateway has started, and of these processes."""
    return [
        found
        for process in psutil.process_iter()
        if (found := _running(process))
        and (process.pid in processes or (token and token in _marker(process)))
    ]


def _running(process: psutil.Process) -> str:
    """Return a living process's command line."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        return f"{process.pid}: {' '.join(process.cmdline())}"
    except psutil.Error:
        return ""


def _marker(process: psutil.Process) -> str:
    try:
        return str(process.environ().get(MARKER, ""))
    except (psutil.Error, OSError):
        return ""
