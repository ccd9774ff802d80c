"""Runs of counting tools: an installation for them, what their server saw, what rows say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.foundation.postgres.processes import User
from tests.journeys.gateways import Installation, RawGateway, eventually, fixture_server
from tests.journeys.migrated import migrated_home

QUIET = {"FOREGATE_LOG_LEVEL": "error"}
"""Nobody reads what most gateways here log, and an unread pipe fills."""


@dataclass(frozen=True)
class Ledger:
    """What the counting server wrote down."""

    file: Path

    def lines(self, what: str) -> list[dict[str, Any]]:
        if not self.file.exists():
            return []
        whole, _, _ = self.file.read_text().rpartition("\n")  # the last may be half-written
        read = [json.loads(line) for line in whole.splitlines()]
        return [line for line in read if line["what"] == what]

    def names(self, what: str) -> Counter[str]:
        """How often each name was `begun`, `counted` or `cancelled`."""
        return Counter(line["name"] for line in self.lines(what))


@dataclass(frozen=True, kw_only=True)
class World:
    """An installation with a trusted server that counts, and a look at its database."""

    installation: Installation
    ledger: Ledger
    database: User

    def rows(self, sql: str) -> list[list[Any]]:
        """What a statement gives; times and ids as texts."""
        answer = self.database.ask(sql)
        assert "error" not in answer, answer
        found: list[list[Any]] = answer["rows"]
        return found

    def tasks(self) -> dict[str, dict[str, str]]:
        """How each task of each run stands, by the run's id and the task's."""
        found: dict[str, dict[str, str]] = {}
        for run, task, status in self.rows("SELECT run_id, task, status FROM execution_taskrun"):
            found.setdefault(run, {})[task] = status
        return found

    def kinds(self, run: str) -> list[str]:
        """Kinds of a run's events in order, whose numbers have no gap."""
        found = self.rows(
            "SELECT seq, kind, task FROM execution_executionevent "
            f"WHERE run_id = '{run}' ORDER BY seq"
        )
        assert [seq for seq, _, _ in found] == list(range(1, len(found) + 1))
        return [f"{kind} {task}".rstrip() for _, kind, task in found]

    def left_alone(self) -> None:
        """Wait until nobody else is connected, so that nothing is written any more."""
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        eventually(lambda: self.rows(others) == [[0]])


@contextmanager
def counting_world() -> Iterator[World]:
    """A fresh one; its database ends with it."""
    with migrated_home() as home:
        installation, ledger = Installation(home=home), home / "ledger.jsonl"
        server = fixture_server("counting")
        server["args"].append(str(ledger))
        config = home / "config.json"
        config.write_text(json.dumps({"mcpServers": {"ledger": server}}))
        installation.manage_all(
            ("import_servers", "--from", str(config), "--trust", "ledger"),
            ("discover", "--no-embed"),
        )
        database = User(home, linger_s=60.0).ready()
        try:
            yield World(installation=installation, ledger=Ledger(ledger), database=database)
        finally:
            database.kill()


def dag(run: str, *, tool: str, tasks: int, delay_ms: float) -> dict[str, Any]:
    """A binary tree of references with a few orders across; names in the ledger are `run/task`."""
    made = []
    for number in range(tasks):
        task: dict[str, Any] = {
            "id": f"t{number}",
            "tool": f"ledger:{tool}",
            "arguments": {"name": f"{run}/t{number}", "delay_ms": delay_ms},
        }
        if number:
            parent = f"t{(number - 1) // 2}"
            task["arguments"]["after"] = {"$ref": parent, "pointer": "/name"}
        if number > 4 and number % 3 == 0:
            task["depends_on"] = [f"t{number - 4}"]
        made.append(task)
    return {"tasks": made}


def chain(run: str, *, tool: str, tasks: int, delay_ms: float) -> dict[str, Any]:
    """Tasks one after the other."""
    made = dag(run, tool=tool, tasks=tasks, delay_ms=delay_ms)["tasks"]
    for number, task in enumerate(made[1:]):
        task["arguments"]["after"] = {"$ref": f"t{number}", "pointer": "/name"}
        task.pop("depends_on", None)
    return {"tasks": made}


def held(workflow: dict[str, Any], gate: Path, *tasks: str) -> dict[str, Any]:
    """Hold some tasks of a workflow, or all, until there is a file at the gate."""
    for task in workflow["tasks"]:
        if not tasks or task["id"] in tasks:
            task["arguments"]["gate"] = str(gate)
    return workflow


def asked(workflow: dict[str, Any], *, key: str, wait_s: float) -> dict[str, Any]:
    """Arguments of run_workflow."""
    return {"workflow": workflow, "options": {"idempotency_key": key, "wait_s": wait_s}}


def send_run(gateway: RawGateway, number: int, arguments: dict[str, Any]) -> None:
    """Ask for a run without waiting for the answer."""
    gateway.send(number, "tools/call", name="run_workflow", arguments=arguments)


def run(gateway: RawGateway, number: int, arguments: dict[str, Any]) -> dict[str, Any]:
    """Ask for a run and return how it stands."""
    result = gateway.call(number, "run_workflow", **arguments)
    assert not result.get("isError"), result
    state: dict[str, Any] = result["structuredContent"]
    return state
