"""How clients learn that a call made ahead answered them, and ask for a new answer."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from execution.call_outcome import ServedSpeculation, SpeculationForm
from execution.speculation.calls import Speculation
from gateway_project.mcp.call_results import FRESH_META, SERVED_META

LOG = {"tool": "git:git_log", "arguments": {"repo_path": "/r"}}
SERVED = ServedSpeculation(
    prediction=uuid.uuid4(), form=SpeculationForm.NEXT_CALL, age_s=1.5, saved_s=0.25
)


class Ready(Speculation):
    """Has the result of every call ready, as the server would answer it."""

    async def answer(self, caller, tool, request, send, *, is_fresh):
        outcome = await send()
        return outcome if is_fresh else replace(outcome, served=SERVED)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_result_made_ahead_says_so(world, connect, mode):
    world.speculation = Ready()
    async with connect(mode) as client:
        result = await client.call_tool("call_tool", LOG)
    assert result.meta[SERVED_META] == {
        "served": "speculation",
        "form": "next_call",
        "prediction": SERVED.prediction.hex,
        "age_ms": 1_500,
        "saved_ms": 250,
    }
    assert result.meta["foregate/call"]["tool"] == LOG["tool"]


async def test_a_result_of_a_call_made_now_does_not(world, connect):
    async with connect() as client:
        result = await client.call_tool("call_tool", LOG)
    assert SERVED_META not in result.meta


async def test_a_client_can_ask_for_a_new_answer(world, connect):
    world.speculation = Ready()
    async with connect() as client:
        by_argument = await client.call_tool("call_tool", {**LOG, "fresh": True})
        by_meta = await client.call_tool("call_tool", LOG, meta={FRESH_META: True})
        neither = await client.call_tool("call_tool", {**LOG, "fresh": False})
    assert SERVED_META not in by_argument.meta
    assert SERVED_META not in by_meta.meta
    assert SERVED_META in neither.meta


async def test_a_tool_called_by_its_listed_name_is_answered_ahead_too(world, connect):
    world.speculation, world.exposure = Ready(), "full"
    async with connect() as client:
        served = await client.call_tool("git__git_log", LOG["arguments"])
        fresh = await client.call_tool("git__git_log", LOG["arguments"], meta={FRESH_META: True})
    assert SERVED_META in served.meta
    assert SERVED_META not in fresh.meta
