"""What must not be cut short by a cancellation."""

import asyncio

import pytest

from gateway_project.foundation.task_group import run_uninterrupted


async def test_work_is_done_before_a_cancellation_goes_on():
    gate, done = asyncio.Event(), []

    async def work() -> None:
        await gate.wait()
        done.append(True)

    task = asyncio.ensure_future(run_uninterrupted(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]


async def test_an_error_of_the_work_is_raised():
    async def work() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await run_uninterrupted(work())


async def test_work_that_cancels_itself_ends_it():
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run_uninterrupted(work())
