"""A container ends with its server, whoever died."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.upstream.conftest import SERVERS, eventually, gone
from tests.upstream_calls import call_tool
from tools.upstream.containers import follow_container
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

# Process number 1 of a container: deaf to the end of its input and to SIGTERM.
DEAF = """
import runpy, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    runpy.run_path(sys.argv.pop(1), run_name="__main__")
finally:
    time.sleep(600)
"""

GATEWAY = """
import asyncio, json, sys
from tests.upstream_calls import call_tool
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

async def main():
    command, *args = sys.argv[2:]
    spec = ServerSpec(name="s", command=command, args=tuple(args), env=json.loads(sys.argv[1]))
    async with UpstreamPool([spec]) as pool:
        result = await call_tool(pool, "s", "about", {})
        print(result.raw["content"][0]["text"], flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def engine(tmp_path):
    """Run an engine, and return a variable that leads its commands to it."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name in ("docker", "podman", "nerdctl"):
        command = binaries / name
        command.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVERS / "engine.py"} "$@"\n')
        command.chmod(0o755)
    path = str(tmp_path / "engine")
    process = subprocess.Popen(
        [sys.executable, str(SERVERS / "engine.py"), "serve", path], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield {"ENGINE": path, "PATH": f"{binaries}:{os.environ['PATH']}"}
    process.kill()
    process.wait()
    process.stdout.close()


def contained(engine: dict[str, str], command: str = "docker", *options: str) -> ServerSpec:
    program = (sys.executable, "-c", DEAF, str(SERVERS / "legacy.py"))
    args = (*(options or ("run", "-i", "--rm")), "image", *program)
    return ServerSpec(name="s", command=command, args=args, env=engine)


async def find_pid(pool: UpstreamPool) -> int:
    about: dict[str, Any] = json.loads(
        (await call_tool(pool, "s", "about", {})).raw["content"][0]["text"]
    )
    return int(about["pid"])


def parent_of(pid: int | None) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


def run_and_kill_gateway(spec: ServerSpec) -> int:
    """Call a server through a gateway that is then killed; return the server's process id."""
    with subprocess.Popen(
        [sys.executable, "-c", GATEWAY, json.dumps(spec.env), spec.command, *spec.args],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=SERVERS.parent.parent,
    ) as gateway:
        assert gateway.stdout is not None
        pid = int(json.loads(gateway.stdout.readline())["pid"])
        gateway.kill()
    return pid


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("docker", ("run", "-i", "--rm")),
        ("docker", ("run", "-i", "--name", "mine")),
        ("podman", ("--log-level", "error", "container", "run", "--interactive")),
        ("nerdctl", ("--namespace=x", "run", "-i", "--cidfile", "OWN")),
        ("env", ("docker", "run", "-i", "--rm")),
    ],
)
async def test_a_container_ends_with_the_pool(engine, tmp_path, monkeypatch, command, options):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    own = tmp_path / "own"
    options = tuple(str(own) if option == "OWN" else option for option in options)
    async with UpstreamPool([contained(engine, command, *options)]) as pool:
        pid = await find_pid(pool)
    await eventually(lambda: gone(pid))
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "engine"}


async def test_a_container_ends_with_its_command_and_the_next_call_starts_another(engine):
    async with UpstreamPool([contained(engine)]) as pool:
        first = await find_pid(pool)
        command = pool.list_statuses()["s"].pid
        assert command is not None
        os.kill(command, signal.SIGKILL)
        await eventually(lambda: gone(first))
        second = await find_pid(pool)
    await eventually(lambda: gone(second))


@pytest.mark.skipif(sys.platform != "linux", reason="finds the guard in /proc")
async def test_a_container_ends_when_its_guard_is_killed(engine):
    async with UpstreamPool([contained(engine)]) as pool:
        pid = await find_pid(pool)
        os.kill(parent_of(pool.list_statuses()["s"].pid), signal.SIGKILL)
        await eventually(lambda: gone(pid))


async def test_a_container_ends_with_a_gateway_that_was_killed(engine):
    pid = await asyncio.to_thread(run_and_kill_gateway, contained(engine))
    await eventually(lambda: gone(pid))


@pytest.mark.parametrize(
    "words",
    [
        ("/usr/bin/node", "run", "-i"),
        ("/usr/bin/docker", "exec", "-i", "box", "run"),
        ("/usr/bin/docker", "compose", "run", "web"),
        ("/usr/bin/docker", "mcp", "gateway", "run"),
        ("/usr/bin/sudo", "-u", "docker", "server", "run"),
        ("/snap/bin/docker", "run", "-i", "image"),
        ("/usr/bin/docker", "--context"),
    ],
)
def test_commands_that_run_no_container_of_their_own_are_left_as_they_are(words):
    program, *args = words
    assert follow_container(program, args, cwd=None) == (args, None)


def test_a_container_named_in_a_file_that_is_there_already_is_not_stopped(tmp_path):
    (tmp_path / "cid").write_text("somebody's")
    args = ["run", "-i", "--cidfile=cid", "image"]
    assert follow_container("/usr/bin/docker", args, cwd=str(tmp_path)) == (args, None)
