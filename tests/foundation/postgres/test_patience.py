"""The limit of a wait: for all steps together, and only as long as somebody waits."""

import asyncio

import pytest

from gateway_project.foundation.postgres import patience


class Clock:
    """A monotonic clock that stands still until it is moved."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(patience, "time", made)
    return made


def test_nothing_is_limited_by_itself() -> None:
    assert patience.begin_wait(60.0) == 60.0
    assert not patience.is_limited()
    patience.end_wait()


def test_the_steps_of_a_wait_share_its_limit(clock: Clock) -> None:
    with patience.limit_wait(5.0):
        clock.now += 30.0  # work that needs no database
        assert patience.begin_wait(60.0) == 5.0
        clock.now += 2.0
        assert patience.begin_wait(60.0) == 3.0
        clock.now += 4.0
        assert patience.begin_wait(60.0) == 0.0


async def test_a_task_that_outlives_the_work_is_no_longer_limited() -> None:
    is_over = asyncio.Event()

    async def run_in_background() -> list[float | bool]:
        during = patience.is_limited()
        await is_over.wait()
        return [during, patience.is_limited(), patience.begin_wait(60.0)]

    with patience.limit_wait(5.0):
        task = asyncio.create_task(run_in_background())
        await asyncio.sleep(0)
    is_over.set()
    assert await task == [True, False, 60.0]
