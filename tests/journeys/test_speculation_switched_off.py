"""The switch, pressed in a browser, ends what another process calls ahead within a second."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.journeys import browser
from tests.journeys.gateways import BASE, Installation, eventually, free_port
from tests.journeys.test_console import MAKE_PASSWORD
from tests.journeys.test_live_console import PASSWORD, running_console
from tests.journeys.test_speculation_killed import Client, count_reads

pytestmark = pytest.mark.full

FOLLOWS_WITHIN_S: Final = 1.0
"""What the console promises of every process, once it says that speculation is off."""
ROUNDS: Final = 3


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file in which the server records the calls that reach it."""
    return tmp_path_factory.mktemp("ledger") / "calls"


@pytest.fixture(scope="module")
def installation(module_home: Path, ledger: Path) -> Installation:
    """An installation with a server that records its calls."""
    made = Installation(home=module_home)
    script = str(BASE / "tests" / "servers" / "records.py")
    config = module_home / "config.json"
    entry = {"command": sys.executable, "args": ["-I", "-S", script, str(ledger)]}
    config.write_text(json.dumps({"mcpServers": {"records": entry}}))
    made.manage_all(
        ("import_servers", "--from", str(config), "--trust", "records"),
        ("discover", "--no-embed"),
    )
    made.manage("shell", "-v0", "-c", MAKE_PASSWORD)
    return made


@pytest.fixture
def page(installation: Installation, chromium: Any) -> Iterator[Any]:
    """A page of a superuser in a console that is a process of its own."""
    port = free_port()
    with (
        running_console(installation, port),
        browser.visit(chromium, f"http://127.0.0.1:{port}", state=None) as seen,
    ):
        seen.page.goto("/")
        browser.sign_in(seen.page, PASSWORD)
        seen.page.locator("main h1").wait_for()
        yield seen.page
        assert seen.problems == []


def turn(page: Any, state: str) -> None:
    """Press the switch in the frame of the page, and wait until the console says it is turned."""
    page.get_by_role("link", name=re.compile("Speculation o")).click()
    browser.press(page, page.get_by_role("button", name=f"Turn speculation {state}"))
    page.get_by_text(f"Speculation is {state}; every process follows within a second").wait_for()


def test_a_speculating_process_calls_nothing_ahead_and_serves_nothing_once_switched_off(
    installation: Installation, ledger: Path, page: Any
) -> None:
    client = Client(installation)
    try:
        owner = client.work_until_served(1)
        record = client.find(owner)
        eventually(lambda: count_reads(ledger, record) == 1)  # called ahead, and waits
        turn(page, "off")
        time.sleep(FOLLOWS_WITHIN_S)

        read, served = client.call("read_record", record_id=record)
        assert (read["title"], served) == (record, None)
        assert count_reads(ledger, record) == 2  # by the server itself, not from what waited
        for number in range(owner + 1, owner + 1 + ROUNDS):
            record = client.find(number)
            assert count_reads(ledger, record) == 0
            assert client.call("read_record", record_id=record)[1] is None

        turn(page, "on")
        client.work_until_served(owner + 1 + ROUNDS)
    finally:
        client.gateway.end()
