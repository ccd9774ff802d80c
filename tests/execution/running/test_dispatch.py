import asyncio

from execution.running import dispatch
from execution.status import RunStatus
from tests.execution.recorded_run import run_of
from tests.patience import PATIENCE_S


async def test_a_run_with_much_to_prepare_lets_others_have_their_turn(monkeypatch):
    monkeypatch.setattr(dispatch, "MOST_AT_A_TIME_S", 0.0, raising=False)
    _, tools = run_of(*({"id": f"t{n}"} for n in range(6)))
    turns, seen = 0, []
    prepare = tools.prepare

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def prepared(tool, arguments):
        seen.append(turns)
        return prepare(tool, arguments)

    tools.prepare = prepared
    going_on = asyncio.create_task(others())
    async with asyncio.timeout(PATIENCE_S):
        assert await tools.execution().run() is RunStatus.SUCCEEDED
    going_on.cancel()
    assert len(set(seen)) == 6, "after each they had one"


async def test_what_is_told_between_two_turns_takes_effect_at_once(monkeypatch):
    monkeypatch.setattr(dispatch, "MOST_AT_A_TIME_S", 0.0, raising=False)
    _, tools = run_of(*({"id": f"t{n}"} for n in range(6)))
    execution = tools.execution()
    tools.answers["t0"] = lambda _call: execution.pause()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.PAUSED
    assert len(tools.calls) < 6
