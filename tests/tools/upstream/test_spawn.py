"""A server that cannot be started says why in one line."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.tools.upstream.conftest import legacy
from tools.upstream.environment import UpstreamEnvironment
from tools.upstream.errors import SpawnFailed, UnsetVariable
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec


async def failure(spec: ServerSpec, **environ: str) -> str:
    environment = UpstreamEnvironment(environ={"PATH": os.environ["PATH"], **environ})
    async with UpstreamPool([spec], environment=environment) as pool:
        with pytest.raises((SpawnFailed, UnsetVariable)) as caught:
            await pool.list_tools(spec.name)
        status = pool.list_statuses()[spec.name]
    assert status.state == "failed"
    assert status.last_error == str(caught.value)
    return str(caught.value)


def entry(command: str, **values: object) -> ServerSpec:
    return ServerSpec(name="s", command=command, **values)


def script(folder: Path, text: str, *, mode: int = 0o755) -> str:
    path = folder / "server"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


async def test_a_command_that_is_not_on_path_is_named_with_the_path():
    message = await failure(entry("no-such-command"), PATH="/nowhere")
    assert "command 'no-such-command' was not found on PATH (/nowhere)" in message


async def test_a_long_path_is_shown_in_part():
    message = await failure(entry("no-such-command"), PATH=":".join(["/nowhere"] * 100))
    assert "…" in message
    assert len(message) < 500


async def test_the_path_searched_is_the_one_the_server_gets(tmp_path):
    spec = entry("no-such-command", env={"PATH": str(tmp_path)})
    assert str(tmp_path) in await failure(spec)


async def test_a_path_that_does_not_exist_is_named(tmp_path):
    assert "does not exist" in await failure(entry(str(tmp_path / "server")))


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("", 0o644, "chmod +x"),
        ("#!/no/such/interpreter\n", 0o755, "interpreter named in its first line does not exist"),
        ("\x00\x01\x02 no program", 0o755, "neither a program of this machine nor a script"),
    ],
)
async def test_a_file_that_cannot_be_executed_is_explained(tmp_path, text, mode, words):
    command = script(tmp_path, text, mode=mode)
    assert words in await failure(entry(command))
    assert words in await failure(entry("server"), PATH=str(tmp_path))


async def test_a_folder_to_start_in_that_does_not_exist_is_named(tmp_path):
    message = await failure(entry(sys.executable, cwd=str(tmp_path / "gone")))
    assert "working folder" in message
    assert "gone" in message


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"args": ("x" * 10_000_000,)}, "too long"),
        ({"args": ("a\0b",)}, "null"),
        ({"env": {"A": "${NO_SUCH}"}}, "${NO_SUCH}"),
    ],
    ids=["long", "null", "unset"],
)
async def test_values_that_cannot_be_passed_are_explained(values, words):
    assert words in await failure(entry(sys.executable, **values))


async def test_an_entrys_words_are_shown_and_not_what_its_variables_hold():
    message = await failure(entry("${SECRET}/server"), SECRET="/hidden")
    assert "${SECRET}/server" in message
    assert "hidden" not in message


async def test_a_misconfigured_server_is_retried_on_each_use(tmp_path):
    spec = entry("server", env={"PATH": str(tmp_path)})
    healthy = legacy()
    async with UpstreamPool([spec]) as pool:
        for _ in range(10):
            with pytest.raises(SpawnFailed):
                await pool.list_tools("s")
        script(tmp_path, f"#!/bin/sh\nexec {shlex.join((healthy.command, *healthy.args))}\n")
        assert len(await pool.list_tools("s")) > 0


async def test_a_relative_command_is_looked_up_in_its_working_folder(tmp_path):
    healthy = legacy()
    script(tmp_path, f"#!/bin/sh\nexec {shlex.join((healthy.command, *healthy.args))}\n")
    async with UpstreamPool([entry("./server", cwd=str(tmp_path))]) as pool:
        assert len(await pool.list_tools("s")) > 0
