"""The console that a gateway starts when a call waits for a person: its address answers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import psutil
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.journeys.gateways import (
    PYTHON,
    Installation,
    eventually,
    fixture_server,
    free_port,
    gone,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full
ALWAYS = """
from tools.models import Tool
Tool.objects.filter(name="count").update(approval="always")
"""


@dataclass(frozen=True)
class Stage:
    """An installation whose tool `counting:count` asks for approval, and what it counted."""

    installation: Installation
    ledger: Path
    port: int

    @property
    def env(self) -> dict[str, str]:
        wanted = {"FOREGATE_CONSOLE_PORT": str(self.port), "FOREGATE_CONSOLE_ON_DEMAND": "true"}
        return self.installation.env | wanted

    def counted(self, name: str) -> int:
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        entries = [json.loads(line) for line in lines]
        return sum(one["name"] == name and one["what"] == "begun" for one in entries)

    def client(self, **env: str) -> Client:
        command, *arguments = self.installation.command("--attach", "never")
        return Client(
            StdioServerParameters(command=command, args=arguments, env=self.env | env), mode="auto"
        )

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [PYTHON, "manage.py", *arguments], env=self.env, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def consoles(self) -> list[psutil.Process]:
        """Return the consoles that were started on demand and live."""
        home = str(self.installation.home)
        return [
            process
            for process in psutil.process_iter()
            if _is_console(process) and _environment(process).get("FOREGATE_HOME") == home
        ]

    def kill_consoles(self) -> None:
        ended = self.consoles()
        for process in ended:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        # One that is about to be gone has no command line any more, and its port still.
        eventually(lambda: gone(ended) and not self.consoles())


def _is_console(process: psutil.Process) -> bool:
    try:
        return "--on-demand" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


@pytest.fixture(scope="module")
def stage(module_home: Path) -> Iterator[Stage]:
    installation = Installation(home=module_home)
    ledger = module_home / "ledger"
    entry = fixture_server("counting")
    installation.register(counting=entry | {"args": [*entry["args"], str(ledger)]})
    installation.manage("shell", "-c", ALWAYS)
    made = Stage(installation=installation, ledger=ledger, port=free_port())
    yield made
    made.kill_consoles()


@pytest.fixture(autouse=True)
def no_console_is_left(stage: Stage) -> Iterator[None]:
    yield
    stage.kill_consoles()


def answers(port: int) -> bool:
    """Whether a console answers, for which it has a second when a gateway asks."""
    try:
        with build_opener().open(f"http://127.0.0.1:{port}/health", timeout=PATIENCE_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


async def ask(client: Client, name: str) -> Any:
    return await client.call_tool(
        "call_tool", {"tool": "counting:count", "arguments": {"name": name}}
    )


def sign_in(opener: OpenerDirector, link: str, password: str) -> str:
    """Open a page as a person does, sign in, and return the page."""
    with opener.open(link, timeout=PATIENCE_S) as answer:
        form, address = answer.read().decode(), answer.url
    assert "/account/sign-in/" in address
    given = {"login": "admin", "password": password, "next": urlsplit(link).path}
    return post(opener, address, form, given)


def post(opener: OpenerDirector, address: str, page: str, given: dict[str, str]) -> str:
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None, page
    body = urlencode({**given, "csrfmiddlewaretoken": token[1]}).encode()
    with opener.open(address, body, timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


async def test_the_link_of_an_approval_leads_to_a_sign_in_and_to_the_call(stage: Stage):
    async with stage.client() as client:
        result = await ask(client, "signed in")
        said = result.meta["foregate/error"]
        text = result.content[0].text
        assert said["link"] in text
        assert "manage.py approvals" in text
        assert "manage.py open_console" in text
        opener = build_opener(HTTPCookieProcessor(CookieJar()))
        printed = stage.manage("open_console", "--print-password")
        password = re.search(r"one-time password (\S+)", printed)
        assert password is not None
        page = sign_in(opener, said["link"], password[1])
        assert "Exact arguments to be sent" in page
        assert stage.counted("signed in") == 0
        post(opener, f"{said['link']}/approve", page, {})
        result = await ask(client, "signed in")
    assert not result.is_error, result
    assert stage.counted("signed in") == 1
    # It outlives the gateway that started it; what it has just forked looks like it.
    eventually(lambda: len(stage.consoles()) == 1)


async def test_the_link_carries_no_right_to_approve(stage: Stage):
    async with stage.client() as client:
        said = (await ask(client, "fetched by a model")).meta["foregate/error"]
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    with opener.open(said["link"], timeout=PATIENCE_S) as answer:
        assert "/account/sign-in/" in answer.url
        page = answer.read().decode()
    assert "fetched by a model" not in page
    assert "manage.py open_console" in page


async def test_gateways_share_one_console_and_one_that_was_killed_is_replaced(stage: Stage):
    async with stage.client() as one, stage.client() as other:
        links = [
            (await ask(client, "shared")).meta["foregate/error"]["link"] for client in (one, other)
        ]
        assert links[0] == links[1]
        eventually(lambda: len(stage.consoles()) == 1)
        stage.kill_consoles()
        again = (await ask(one, "after the kill")).meta["foregate/error"]["link"]
    with build_opener().open(again, timeout=PATIENCE_S) as answer:
        assert answer.status == 200


async def test_a_stranger_on_the_port_is_not_taken_for_the_console(stage: Stage):
    with listening(stage.port):
        async with stage.client() as client:
            link = (await ask(client, "stranger")).meta["foregate/error"]["link"]
        assert urlsplit(link).port != stage.port
        with build_opener().open(link, timeout=PATIENCE_S) as answer:
            assert "/account/sign-in/" in answer.url


@contextmanager
def listening(port: int) -> Iterator[None]:
    """Listen on a port as soon as what a killed console had forked lets go of it."""
    sockets: list[socket.socket] = []

    def listens() -> bool:
        with suppress(OSError):
            sockets.append(socket.create_server(("127.0.0.1", port)))
        return bool(sockets)

    eventually(listens)
    with sockets[0]:
        yield


async def test_nothing_is_started_where_people_reach_the_console_elsewhere(stage: Stage):
    async with stage.client(FOREGATE_PUBLIC_URL="https://gate.example") as client:
        said = (await ask(client, "public")).meta["foregate/error"]
    assert said["link"].startswith("https://gate.example/approvals/")
    async with stage.client(FOREGATE_CONSOLE_ON_DEMAND="false") as client:
        await ask(client, "disabled")
    assert stage.consoles() == []


async def test_a_console_that_a_person_starts_takes_the_place_of_one_started_on_demand(
    stage: Stage,
):
    async with stage.client() as client:
        await ask(client, "takes over")
    assert stage.consoles()
    served = subprocess.Popen(  # noqa: ASYNC220 - the test waits for it anyway
        [PYTHON, "manage.py", "run_console", "--no-password"], env=stage.env,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert served.stdout is not None
        assert f":{stage.port}/" in served.stdout.readline()
        eventually(lambda: stage.consoles() == [] and answers(stage.port))
        async with stage.client() as client:
            link = (await ask(client, "told by another")).meta["foregate/error"]["link"]
        assert urlsplit(link).port == stage.port
        assert stage.consoles() == []
    finally:
        os.kill(served.pid, signal.SIGTERM)
        served.communicate(timeout=PATIENCE_S)
