import asyncio

from execution.running.completion_batch import CompletionBatch
from tests.patience import PATIENCE_S


async def test_what_happens_in_time_is_heard_of():
    wake = asyncio.Event()
    gathering = CompletionBatch(wake, 60.0)
    asyncio.get_running_loop().call_soon(wake.set)
    assert await gathering.wait_for_more(is_wanted=True)


async def test_the_moment_is_not_lengthened_by_what_happens_in_it():
    wake = asyncio.Event()
    wake.set()
    gathering = CompletionBatch(wake, 0.01)
    async with asyncio.timeout(PATIENCE_S):
        while await gathering.wait_for_more(is_wanted=True):  # it never stops happening
            pass
    assert await gathering.wait_for_more(is_wanted=True)  # another moment


async def test_nothing_is_waited_for_that_nobody_wants():
    wake = asyncio.Event()
    assert not await CompletionBatch(wake, 60.0).wait_for_more(is_wanted=False)
    assert not await CompletionBatch(wake, 0.0).wait_for_more(is_wanted=True)
