"""A call that a person has to approve, through real clients, gateways and a server that counts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

from tests.journeys.gateways import ERAS, Installation, fixture_server

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

    def counted(self, name: str) -> int:
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        entries = [json.loads(line) for line in lines]
        return sum(one["name"] == name and one["what"] == "begun" for one in entries)

    def client(self, era: str, **options: Any) -> Client:
        command, *arguments = self.installation.command("--attach", "never")
        parameters = StdioServerParameters(
            command=command, args=arguments, env=self.installation.env
        )
        return Client(parameters, mode=era, **options)


@pytest.fixture(scope="module")
def stage(module_home: Path) -> Stage:
    installation = Installation(home=module_home)
    ledger = module_home / "ledger"
    entry = fixture_server("counting")
    installation.register(counting=entry | {"args": [*entry["args"], str(ledger)]})
    installation.manage("shell", "-c", ALWAYS)
    return Stage(installation=installation, ledger=ledger)


async def call(client: Client, name: str) -> Any:
    return await client.call_tool(
        "call_tool", {"tool": "counting:count", "arguments": {"name": name}}
    )


@pytest.mark.parametrize("era", ERAS)
async def test_the_client_s_user_approves_and_the_call_is_made_once(stage: Stage, era: str):
    name, before = f"asked {era}", []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        before.append((stage.counted(name), params.message))
        return ElicitResult(action="accept", content={"approve": True})

    async with stage.client(era, elicitation_callback=answer) as client:
        result = await call(client, name)
    assert not result.is_error, result
    ((count, message),) = before
    assert count == 0
    assert message.startswith("Foregate asks: may counting:count be called")
    assert stage.counted(name) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_waits_for_the_command_and_survives_its_gateway(stage: Stage, era: str):
    name = f"waits {era}"
    async with stage.client(era) as client:
        result = await call(client, name)
    said = result.meta["foregate/error"]
    assert (said["code"], stage.counted(name)) == ("approval_required", 0)
    listed = json.loads(stage.installation.manage("approvals", "--json"))["approvals"]
    assert said["approval"] in [one["id"] for one in listed]
    stage.installation.manage("approvals", "approve", said["approval"], "--yes")
    assert stage.counted(name) == 0
    async with stage.client(era) as client:
        result = await call(client, name)
        assert not result.is_error, result
        assert stage.counted(name) == 1
        again = await call(client, name)
        assert again.meta["foregate/error"]["approval"] != said["approval"]
    assert stage.counted(name) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_rejected_call_is_never_made(stage: Stage, era: str):
    name = f"rejected {era}"
    async with stage.client(era) as client:
        said = (await call(client, name)).meta["foregate/error"]
        stage.installation.manage("approvals", "reject", said["approval"], "--yes")
        result = await call(client, name)
    assert result.meta["foregate/error"]["code"] == "approval_rejected"
    assert stage.counted(name) == 0
