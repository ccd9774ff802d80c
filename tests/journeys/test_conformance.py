"""The MCP project's conformance suite passes through the gateway wherever it passes without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.conformance import suite
from tests.journeys.conformance.stage import (
    NAME,
    Transport,
    approve_nothing,
    fixture_entry,
    fixture_on_http,
    gateway_on_http,
    unprefix,
)
from tests.journeys.gateways import Installation
from tests.journeys.migrated import migrated_home

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

Direct = dict[str, suite.Report]
HELD = {"tasks-required-task-error": "a task is held for clients that do not follow it"}
"""Scenarios whose rule holds for a server that cannot answer otherwise."""


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Direct:
    """What the suite finds in the fixture itself."""
    with fixture_on_http() as url:
        return {
            version: suite.check_server(url, version, tmp_path_factory.mktemp("direct"))
            for version in suite.VERSIONS
        }


@pytest.fixture(scope="module", params=["stdio", "http"])
def gateway(request: pytest.FixtureRequest) -> Iterator[str]:
    """A gateway before the fixture, reached by one transport or the other."""
    transport: Transport = request.param
    with fixture_on_http() as url, migrated_home() as home:
        installation = Installation(home=home)
        installation.register(**{NAME: fixture_entry(transport, url)})
        unprefix(installation)
        approve_nothing(installation, "confirm_delete")  # the suite answers the server's question
        with gateway_on_http(installation, "full") as address:
            yield address


@pytest.mark.parametrize("version", suite.VERSIONS)
def test_the_fixture_itself_breaks_no_rule(direct: Direct, version: str):
    report = direct[version]
    print(f"\n{version} directly: {report.summary}")  # noqa: T201 - the counts are the result
    assert report.scenarios == suite.scenarios("server", version)
    assert not report.beyond(())


@pytest.mark.parametrize("version", suite.VERSIONS)
def test_the_gateway_breaks_no_rule_that_its_server_keeps(
    gateway: str, direct: Direct, version: str, tmp_path: Path, request: pytest.FixtureRequest
):
    report = suite.check_server(gateway, version, tmp_path)
    if report.beyond(direct[version].faults):
        # Scenarios of the suite have time limits of their own, which a busy machine can exceed.
        again = tmp_path / "again"
        again.mkdir()
        report = suite.check_server(gateway, version, again)
    print(f"\n{request.node.callspec.id}: {report.summary}")  # noqa: T201 - the counts again
    assert report.scenarios == direct[version].scenarios
    assert report.beyond(direct[version].faults) == []


def test_tasks_of_servers_pass_through(gateway: str, tmp_path: Path):
    report = suite.check_tasks(gateway, tmp_path, without=HELD)
    print(f"\ntasks: {report.summary}")  # noqa: T201 - the counts again
    assert report.scenarios == suite.task_scenarios() - HELD.keys()
    assert not report.beyond(())
