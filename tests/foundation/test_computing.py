import asyncio
import threading
from functools import partial

import pytest

from gateway_project.foundation import abandonment, computing
from tests.patience import PATIENCE_S

DOORS = pytest.mark.parametrize(
    "door",
    [
        computing.run_in_worker_thread,
        computing.run_in_message_thread,
        partial(computing.run_in_validation_thread, "caller"),
    ],
)


@DOORS
async def test_results_are_computed_on_another_thread(door):
    assert await door(lambda x: x + 1, 1) == 2
    assert await door(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await door(lambda: 1 / 0)


@DOORS
async def test_work_can_detect_that_its_caller_was_cancelled(door):
    begun, ended = threading.Event(), threading.Event()

    def work():
        assert not abandonment.is_abandoned()
        begun.set()
        while not abandonment.is_abandoned():
            threading.Event().wait(0.001)
        ended.set()

    task = asyncio.create_task(door(work))
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, PATIENCE_S)


async def test_queued_work_of_a_cancelled_caller_never_starts():
    hold, begun = threading.Event(), []
    holding = [
        asyncio.create_task(computing.run_in_message_thread(hold.wait, PATIENCE_S))
        for _ in range(computing.MESSAGE_THREADS)
    ]
    late = asyncio.create_task(computing.run_in_message_thread(begun.append, 1))
    await asyncio.sleep(0)
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late
    hold.set()
    assert await asyncio.gather(*holding) == [True] * computing.MESSAGE_THREADS
    await computing.run_in_message_thread(lambda: None)
    assert begun == []


async def test_costly_work_does_not_delay_searches():
    hold = threading.Event()
    holding = [
        asyncio.create_task(computing.run_in_message_thread(hold.wait, PATIENCE_S))
        for _ in range(computing.MESSAGE_THREADS + 1)
    ]
    assert await computing.run_in_worker_thread(lambda: "found") == "found"
    hold.set()
    for task in holding:
        assert await task


async def test_costly_validation_does_not_delay_messages():
    hold = threading.Event()
    holding = [
        asyncio.create_task(computing.run_in_validation_thread(whose, hold.wait, PATIENCE_S))
        for whose in range(computing.VALIDATION_THREADS + 1)
    ]
    await asyncio.sleep(0)
    assert await computing.run_in_message_thread(lambda: "read") == "read"
    hold.set()
    assert await asyncio.gather(*holding) == [True] * len(holding)


async def test_validation_of_one_caller_leaves_a_thread_to_others():
    hold, judged = threading.Event(), []

    def judge():
        hold.wait(PATIENCE_S)
        judged.append("greedy")

    holding = [
        asyncio.create_task(computing.run_in_validation_thread("greedy", judge))
        for _ in range(computing.VALIDATION_THREADS + 1)
    ]
    await asyncio.sleep(0)
    await computing.run_in_validation_thread("other", judged.append, "other")
    assert judged == ["other"]
    hold.set()
    await asyncio.gather(*holding)
    assert judged == ["other", *["greedy"] * len(holding)]


def test_outside_of_a_door_nothing_is_abandoned():
    assert not abandonment.is_abandoned()
