"""Our client of upstream servers passes the MCP project's conformance suite for clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.conformance import suite
from tests.journeys.gateways import PYTHON, Installation

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

DRIVER = f"{PYTHON} -m tests.journeys.conformance.client"
# The suite's servers and their authorization servers are on this machine. The database stays
# between two scenarios.
SETTINGS = {"FOREGATE_ALLOW_PRIVATE": "127.0.0.0/8, ::1", "FOREGATE_POSTGRES_LINGER_S": "60"}


@pytest.fixture(scope="module")
def env(module_home: Path) -> dict[str, str]:
    """An installation to keep tokens in."""
    installation = Installation(home=module_home)
    installation.manage("migrate")
    return installation.env | SETTINGS


@pytest.mark.parametrize("version", suite.VERSIONS)
def test_our_client_breaks_no_rule(version: str, env: dict[str, str], tmp_path: Path):
    report = suite.check_client(DRIVER, version, tmp_path, env=env)
    print(f"\nclient {version}: {report.summary}")  # noqa: T201 - the counts are the result
    assert report.scenarios == suite.scenarios("client", version)
    assert report.beyond(()) == []
