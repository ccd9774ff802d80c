"""What a task group raises is one error, and cancelling it works as it does without this."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from gateway_project.foundation.task_group import TaskGroup, pick_main_error
from tests.patience import PATIENCE_S


async def fail(error: BaseException) -> None:
    raise error


async def fail_when_cancelled(error: Exception) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise error from None


async def in_group(*tasks: Coroutine[Any, Any, None], then: BaseException | None = None) -> None:
    async with TaskGroup() as group:
        for task in tasks:
            group.create_task(task)
            await asyncio.sleep(0)
        if then is not None:
            raise then
        await asyncio.Event().wait()


async def test_the_error_of_a_task_is_raised_itself():
    error = KeyError("a")
    with pytest.raises(KeyError) as caught:
        await in_group(fail(error))
    assert caught.value is error


async def test_the_first_error_is_raised_and_later_ones_are_noted_and_logged(caplog):
    with pytest.raises(KeyError) as caught:
        await in_group(fail_when_cancelled(ValueError("later")), fail(KeyError("first")))
    assert caught.value.__notes__ == ["another task also failed: ValueError('later')"]
    assert "ValueError('later')" in caplog.text


async def test_the_error_of_the_block_counts_before_what_it_leads_to():
    with pytest.raises(KeyError):
        await in_group(fail_when_cancelled(ValueError("later")), then=KeyError("first"))


async def test_nested_groups_raise_one_error():
    async def inner() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(KeyError("a")))

    with pytest.raises(KeyError):
        await in_group(inner())


async def test_cancelling_ends_the_tasks_and_is_passed_on():
    ended, began = [], asyncio.Event()

    async def wait() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def work() -> None:
        async with TaskGroup() as group:
            group.create_task(wait())

    task = asyncio.ensure_future(work())
    async with asyncio.timeout(PATIENCE_S):
        await began.wait()
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled()
    assert ended == [True]


async def test_a_deadline_around_a_group_is_a_timeout():
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), TaskGroup() as group:
            group.create_task(asyncio.Event().wait())


async def test_a_defect_takes_precedence_over_a_disconnected_peer():
    group = BaseExceptionGroup("two", [BrokenPipeError(), ExceptionGroup("x", [KeyError("a")])])
    assert isinstance(pick_main_error(group), KeyError)
    assert isinstance(pick_main_error(ExceptionGroup("one", [BrokenPipeError()])), BrokenPipeError)
