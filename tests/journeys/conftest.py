"""Data folders of journeys; each ends with its module, database and all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys import browser, migrated
from tests.journeys.gateways import PYTHON, Installation, fixture_server
from tests.journeys.migrated import migrated_home


@pytest.fixture(scope="session", autouse=True)
def _template_ends() -> Iterator[None]:
    yield
    migrated.remove_template()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An installation with servers of all kinds, for tests that change nothing in it."""
    made = Installation(home=tmp_path_factory.mktemp("home"))
    made.register(
        time={"command": PYTHON, "args": ["-m", "mcp_server_time"]},
        modern=fixture_server("stateless"),
        legacy=fixture_server("legacy"),
        chatty=fixture_server("chatty"),
    )
    return made


@pytest.fixture(scope="module")
def module_home() -> Iterator[Path]:
    with migrated_home() as folder:
        yield folder


@pytest.fixture
def chromium() -> Iterator[Any]:
    """A browser of this machine; the test is skipped if there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = browser.find_browser()
    if found is None:
        pytest.skip("no Chromium found; install chromium to run the browser tests")
    with playwright.sync_playwright() as engine:
        started = engine.chromium.launch(executable_path=found, args=browser.FLAGS)
        yield started
        started.close()
