import asyncio
from dataclasses import replace

import pytest
from mcp.shared.exceptions import MCPError

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.shares import Bound
from gateway_project.mcp import parking as parking_module
from gateway_project.mcp.parking import NoParkedCall, ServerQuestions, open_parking
from tests.patience import PATIENCE_S

ADA = Caller(user="ada", team=None, person=None, scopes=frozenset(), kind="http")
BO = Caller(user="bo", team=None, person=None, scopes=frozenset(), kind="http")


async def asking(call):
    return await call.ask("elicitation/create", {"message": "?"})


async def never(call):
    await asyncio.Event().wait()


async def failing(call):
    raise ValueError("no")


async def test_a_call_that_asks_nothing_returns_or_raises_at_once():
    async def plain(call):
        return 5

    async with open_parking() as lot:
        assert await lot.run(plain, caller=ADA, progress=None) == 5
        with pytest.raises(ValueError, match="no"):
            await lot.run(failing, caller=ADA, progress=None)
        assert len(lot) == 0


async def test_answers_are_relayed_without_hop_metadata():
    async with open_parking() as lot:
        asked = await lot.run(asking, caller=ADA, progress=None)
        assert asked.requests == {
            "ask-1": {"method": "elicitation/create", "params": {"message": "?"}}
        }
        answers = {"ask-1": {"action": "accept", "resultType": "complete"}, "other": 5}
        answer = await lot.resume(asked.parked_call, answers, caller=ADA, progress=None)
        assert answer == {"action": "accept"}
        assert len(lot) == 0


async def test_a_parked_call_is_found_by_its_caller_only_and_once():
    async with open_parking() as lot:
        asked = await lot.run(asking, caller=ADA, progress=None)
        for name, caller in ((asked.parked_call, BO), ("x", ADA)):
            with pytest.raises(NoParkedCall):
                await lot.resume(name, {}, caller=caller, progress=None)
        again = await lot.resume(
            asked.parked_call, {"ask-1": "not a result"}, caller=ADA, progress=None
        )
        assert again.requests == asked.requests
        with pytest.raises(NoParkedCall):
            await lot.resume(asked.parked_call, {}, caller=ADA, progress=None)


async def test_a_narrower_token_of_the_same_user_does_not_get_what_a_call_returns():
    owner = replace(ADA, scopes=frozenset({"call", "search"}))
    async with open_parking() as lot:
        asked = await lot.run(asking, caller=owner, progress=None)
        narrower = replace(owner, scopes=frozenset({"search"}))
        with pytest.raises(NoParkedCall):
            await lot.resume(asked.parked_call, {}, caller=narrower, progress=None)
        wider = replace(owner, scopes=frozenset({"*"}))
        answered = await lot.resume(asked.parked_call, {"ask-1": {}}, caller=wider, progress=None)
        assert answered == {}


async def test_an_abandoned_parked_call_ends_and_its_server_is_notified():
    ended = asyncio.get_running_loop().create_future()

    async def waiting(call):
        try:
            await call.ask("roots/list", {})
        except BaseException as error:
            ended.set_result(error)
            raise

    async with open_parking(abandoned_s=0.01) as lot:
        asked = await lot.run(waiting, caller=ADA, progress=None)
        async with asyncio.timeout(PATIENCE_S):
            assert isinstance(await ended, MCPError | asyncio.CancelledError)
        with pytest.raises(NoParkedCall):
            await lot.resume(asked.parked_call, {}, caller=ADA, progress=None)


async def test_the_number_of_parked_calls_is_limited(monkeypatch):
    monkeypatch.setattr(parking_module, "PARKED", Bound(total=9, each=1))
    async with open_parking() as lot:
        assert isinstance(await lot.run(asking, caller=ADA, progress=None), ServerQuestions)
        with pytest.raises(MCPError, match="too many calls are already waiting"):
            await lot.run(asking, caller=ADA, progress=None)
        assert isinstance(await lot.run(asking, caller=BO, progress=None), ServerQuestions)
        assert len(lot) == 2


async def test_progress_goes_to_the_currently_waiting_request():
    first, second = [], []

    async def working(call):
        await call.report(1, 3, None)
        await call.ask("roots/list", {})
        await call.report(2, 3, None)
        return "done"

    def into(reports):
        async def report(progress, total, message):
            reports.append(progress)

        return report

    async with open_parking() as lot:
        asked = await lot.run(working, caller=ADA, progress=into(first))
        await lot.resume(asked.parked_call, {"ask-1": {}}, caller=ADA, progress=into(second))
    assert (first, second) == ([1], [2])
