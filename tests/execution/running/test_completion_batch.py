import asyncio

from execution.running.completion_batch import CompletionBatch
from tests.patience import PATIENCE_S


async def test_completions_within_the_window_are_batched():
    wake = asyncio.Event()
    gathering = CompletionBatch(wake, 60.0)
    asyncio.get_running_loop().call_soon(wake.set)
    assert await gathering.wait_for_more(is_wanted=True)


async def test_the_window_is_not_extended_by_completions():
    wake = asyncio.Event()
    wake.set()
    gathering = CompletionBatch(wake, 0.01)
    async with asyncio.timeout(PATIENCE_S):
        while await gathering.wait_for_more(is_wanted=True):  # it never stops happening
            pass
    assert await gathering.wait_for_more(is_wanted=True)  # another moment


async def test_no_window_is_opened_if_nothing_can_follow():
    wake = asyncio.Event()
    assert not await CompletionBatch(wake, 60.0).wait_for_more(is_wanted=False)
    assert not await CompletionBatch(wake, 0.0).wait_for_more(is_wanted=True)
