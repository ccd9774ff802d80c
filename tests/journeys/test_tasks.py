"""The task of a run outlives a gateway that is killed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.journeys.conformance.stage import NAME, fixture_entry
from tests.journeys.gateways import META, Installation, RawGateway, eventually
from tests.journeys.migrated import migrated_home

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

FOLLOWING = META | {
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    }
}
SECONDS = 4
FLOW = {
    "tasks": [
        {"id": "slow", "tool": f"{NAME}:slow_compute", "arguments": {"seconds": SECONDS}},
        {
            "id": "greet",
            "tool": f"{NAME}:greet",
            "arguments": {"name": {"$ref": "slow", "pointer": ""}},
        },
    ]
}


def test_a_task_goes_on_after_its_gateway_was_killed():
    with migrated_home() as home:
        installation = Installation(home=home)
        config = home / "config.json"
        config.write_text(json.dumps({"mcpServers": {NAME: fixture_entry("stdio")}}))
        installation.manage_all(
            ("import_servers", "--from", str(config), "--trust", NAME), ("discover", "--no-embed")
        )
        handle = start_and_kill(installation.start())
        assert handle["resultType"] == "task"
        gateway = installation.start()
        state = follow(gateway, handle["taskId"])
        gateway.end()
    assert state["status"] == "completed"
    answer = state["result"]["structuredContent"]
    assert (answer["run_id"], answer["status"]) == (handle["taskId"], "succeeded")
    assert answer["results"]["greet"] == "Hello, computed !"


def start_and_kill(gateway: RawGateway) -> dict[str, Any]:
    """Start a run as a task, kill the gateway at once, and return the handle."""
    given = {"name": "run_workflow", "arguments": {"workflow": FLOW}}
    handle: dict[str, Any] = gateway.ask(1, "tools/call", **given, _meta=FOLLOWING)["result"]
    gateway.process.kill()
    gateway.end()
    return handle


def follow(gateway: RawGateway, task: str) -> dict[str, Any]:
    """Return the state of a task once it has ended."""
    states: list[dict[str, Any]] = []

    def has_ended() -> bool:
        answer = gateway.ask(len(states) + 1, "tasks/get", taskId=task, _meta=FOLLOWING)
        states.append(answer["result"])
        time.sleep(states[-1]["pollIntervalMs"] / 1_000)
        return states[-1]["status"] not in ("working", "input_required")

    eventually(has_ended)
    return states[-1]
