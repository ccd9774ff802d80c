"""Calls that are held while a client is asked: by its sealed state, or parked."""

import asyncio

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from gateway_project.foundation.caller import Caller
from tests.gateway.asking_servers import (
    CALL,
    FORM,
    able,
    asks_in_the_middle,
    returns_what_it_needs,
    text,
)
from tests.patience import PATIENCE_S


async def hand_driven(client, **given):
    return await client.session.call_tool(*CALL, allow_input_required=True, **given)


async def test_request_state_is_sealed_and_valid_for_its_request_only(connect, world):
    world.upstream.answer = returns_what_it_needs(state="secret")
    answers = {"who": ElicitResult(action="accept", content={})}
    async with able(connect, "auto") as client:
        first = await hand_driven(client)
        assert "secret" not in first.request_state
        with pytest.raises(MCPError, match="another request") as refused:
            await client.session.call_tool(
                "call_tool",
                {"tool": "git:git_log", "arguments": {"repo_path": "x"}},
                request_state=first.request_state,
                input_responses=answers,
            )
        assert refused.value.code == -32602
        with pytest.raises(MCPError, match="not issued"):
            await hand_driven(client, request_state=first.request_state[:-2] + "AA")
        world.caller = Caller(
            user="eve", team=None, person=None, scopes=frozenset({"*"}), kind="http"
        )
        world.readiness.serve(
            type(world.readiness.current)(
                effects=world.readiness.current.effects, caller=world.caller
            )
        )
        with pytest.raises(MCPError, match="issued to another caller"):
            await hand_driven(client, request_state=first.request_state, input_responses=answers)
    assert [called.request_state for called in world.upstream.calls] == [None]


async def test_a_parked_call_is_resumed_by_its_caller_once(connect, world):
    world.upstream.answer = asks_in_the_middle(("elicitation/create", FORM))
    async with able(connect, "auto") as client:
        first = await hand_driven(client)
        (key,) = first.input_requests
        again = await hand_driven(client, request_state=first.request_state)
        assert list(again.input_requests) == [key]
        answers = {key: ElicitResult(action="accept", content={"name": "Bo"})}
        with pytest.raises(MCPError, match="has ended"):
            await hand_driven(client, request_state=first.request_state, input_responses=answers)
        done = await hand_driven(
            client, request_state=again.request_state, input_responses=answers
        )
        assert "Bo" in text(done)
    assert len(world.upstream.calls) == 1


async def test_a_parked_call_ends_with_its_client(connect, world):
    async def answer(called, _progress):
        await called.downstream.ask("elicitation/create", FORM)

    world.upstream.answer = answer
    async with able(connect, "auto") as client:
        await hand_driven(client)
        assert not world.upstream.cancelled.is_set()
    async with asyncio.timeout(PATIENCE_S):
        await world.upstream.cancelled.wait()


async def test_a_request_that_is_cancelled_while_it_may_park_is_cancelled_upstream(connect, world):
    async def answer(called, _progress):
        await asyncio.Event().wait()

    world.upstream.answer = answer
    async with able(connect, "auto") as client, asyncio.TaskGroup() as group:
        call = group.create_task(client.call_tool(*CALL))
        await world.upstream.called.wait()
        call.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await world.upstream.cancelled.wait()
