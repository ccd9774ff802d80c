"""An installation with real upstream servers, and gateways started on it as a client does."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.patience import PATIENCE_S

BASE = Path(__file__).resolve().parent.parent.parent
PYTHON = sys.executable
JOURNEY_S: Final = 3 * PATIENCE_S
"""How long what has many steps may take: a command that makes a database, a whole visit."""
HANDED_OUT = 32_768
"""From here on a kernel gives ports to whoever asks for any."""
ERAS = ("auto", "legacy")

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


COMMANDS = """
import json, os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
import django
from django.core.management import call_command
django.setup()
for command in json.loads(sys.argv[1]):
    call_command(*command)
"""


def fixture_server(name: str) -> dict[str, Any]:
    """Return the entry of a server of tests/servers."""
    file = BASE / "tests" / "servers" / f"{name}.py"
    # Without site-packages, one that needs none of them starts in no time.
    options = [] if "from mcp" in file.read_text() else ["-I", "-S"]
    return {"command": PYTHON, "args": [*options, str(file)]}


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A data folder of its own; its embedded database ends by itself soon after its last user."""

    home: Path

    @property
    def env(self) -> dict[str, str]:
        """Return our environment on this folder, without any other setting of Foregate."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FOREGATE_", "DJANGO_", "COV_")) and name != "DATABASE_URL"
        }
        return kept | {
            "FOREGATE_HOME": str(self.home),
            "FOREGATE_POSTGRES_LINGER_S": "2",
            "FOREGATE_CONSOLE_ON_DEMAND": "false",  # one would outlive its test
        }

    def manage(self, *arguments: str) -> str:
        """Run a command and return what it prints."""
        return self._run(str(BASE / "manage.py"), *arguments)

    def manage_all(self, *commands: tuple[str, ...]) -> str:
        """Run several commands in one process, which saves most of their time."""
        return self._run("-c", COMMANDS, json.dumps(commands))

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [PYTHON, *arguments],
            cwd=BASE,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=JOURNEY_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def register(self, **servers: dict[str, Any]) -> None:
        """Register servers as a client's configuration names them, and list their tools."""
        config = self.home / "config.json"
        config.write_text(json.dumps({"mcpServers": servers}))
        self.manage_all(("import_servers", "--from", str(config)), ("discover", "--no-embed"))

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a gateway."""
        return [PYTHON, str(BASE / "manage.py"), "run_gateway", *arguments]

    @asynccontextmanager
    async def client(
        self, mode: str = "auto", *arguments: str, **env: str
    ) -> AsyncIterator[Client]:
        """Start a gateway as a client does, and connect to it."""
        command, *rest = self.command(*arguments)
        parameters = StdioServerParameters(command=command, args=rest, env=self.env | env)
        async with Client(parameters, mode=mode) as client:
            yield client

    def start(self, *arguments: str, **env: str) -> RawGateway:
        """Start a gateway whose every byte is seen."""
        return RawGateway(
            subprocess.Popen(
                self.command(*arguments),
                env=self.env | env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        )


@dataclass(frozen=True)
class RawGateway:
    """A gateway spoken to in bytes."""

    process: subprocess.Popen[bytes]

    def send(self, number: int, method: str, **params: Any) -> None:
        """Send a request of the modern era."""
        assert self.process.stdin is not None
        message = {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {"_meta": META} | params,
        }
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return the answer, whatever comes before it."""
        self.send(number, method, **params)
        while True:
            answer = self.read()
            if answer.get("id") == number:
                return answer

    def call(self, number: int, name: str, **arguments: Any) -> dict[str, Any]:
        """Call one of the gateway's tools and return the result."""
        answer = self.ask(number, "tools/call", name=name, arguments=arguments)
        result: dict[str, Any] = answer["result"]
        return result

    def read(self) -> dict[str, Any]:
        """Read one line, which has to be a message of the protocol."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            code, logged = self.end()
            pytest.fail(f"the gateway ended with {code}: {logged}")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def end(self) -> tuple[int, str]:
        """Close its input, as a client that leaves; return its exit code and what it logged."""
        _, logged = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, logged.decode()


def eventually(condition: Callable[[], bool], *, within_s: float = PATIENCE_S) -> None:
    """Wait for what other processes bring about."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


async def aeventually(condition: Callable[[], bool], *, within_s: float = PATIENCE_S) -> None:
    """Wait for what other processes bring about, without holding up the loop."""
    await asyncio.to_thread(eventually, condition, within_s=within_s)


def gone(processes: Iterable[psutil.Process]) -> bool:
    """Whether processes have ended, if need be without anybody having taken note."""
    return not any(_lives(process) for process in processes)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def free_port() -> int:
    """Return a port nobody listens on, and that nobody is given by chance before it is used."""
    for port in random.sample(range(HANDED_OUT // 2, HANDED_OUT), 100):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")
