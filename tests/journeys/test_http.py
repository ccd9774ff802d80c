"""The gateway over HTTP as a process, alone and inside the console's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.journeys.gateways import (
    BASE,
    ERAS,
    PYTHON,
    Installation,
    aeventually,
    eventually,
    free_port,
    gone,
)
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def bearer(installation: Installation) -> str:
    return installation.manage("create_token").strip()


@contextmanager
def process(
    installation: Installation, *arguments: str, **env: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; yields it with the first line it prints."""
    started = subprocess.Popen(
        [PYTHON, str(BASE / "manage.py"), *arguments],
        env=installation.env | env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    try:
        yield started, started.stdout.readline()
    finally:
        started.kill()
        started.communicate(timeout=PATIENCE_S)


async def echo(url: str, bearer: str, text: str, *, mode: str = "auto") -> str:
    headers = {"Authorization": f"Bearer {bearer}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            arguments = {"tool": "modern:echo", "arguments": {"text": text}}
            result = await client.call_tool("call_tool", arguments)
            assert not result.is_error, result
            said: Any = result.content[0]
            return str(said.text)


async def test_clients_of_both_eras_call_through_it_and_it_ends_in_order(installation, bearer):
    with process(installation, "run_gateway", "--http", "127.0.0.1:0") as (gateway, line):
        url = line.split()[1]
        for mode in ERAS:
            assert await echo(url, bearer, mode, mode=mode) == mode
        children = psutil.Process(gateway.pid).children(recursive=True)
        gateway.send_signal(signal.SIGTERM)
        _, logged = gateway.communicate(timeout=PATIENCE_S)
    assert gateway.returncode == 0
    assert "Traceback" not in logged
    await aeventually(lambda: gone(children))
    log = (Path(installation.home) / "logs" / "foregate.log").read_text("utf-8")
    assert "http.request" in {json.loads(line)["event"] for line in log.splitlines()}
    assert bearer not in log + logged


async def test_the_console_serves_clients_too(installation, bearer):
    port = str(free_port())
    console = process(installation, "run_console", "--no-password", FOREGATE_CONSOLE_PORT=port)
    base = f"http://127.0.0.1:{port}"

    def up() -> bool:
        try:
            with urllib.request.urlopen(f"{base}/health") as response:
                return json.load(response) == {"status": "ok"}
        except OSError:
            return False

    with console as (started, line):
        assert base in line
        eventually(up)
        assert await echo(f"{base}/mcp", bearer, "hi") == "hi"
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
            assert "Foregate" in (await http.get(f"{base}/account/sign-in/")).text
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=PATIENCE_S)
        assert started.returncode == 0


def test_strangers_are_never_let_in_without_a_token(installation):
    command = [PYTHON, str(BASE / "manage.py"), "run_gateway", "--http", "0.0.0.0:0", "--no-auth"]
    done = subprocess.run(
        command,
        env=installation.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert done.stderr.count(os.linesep) == 1
    assert "create_token" in done.stderr
