import asyncio
from contextlib import asynccontextmanager

import django.db
import pytest
from structlog.testing import capture_logs

from execution.process.watchers import repeat_every
from execution.run_dependencies import RunsUnavailable
from tests.patience import PATIENCE_S


class Step:
    """Counts how often it is taken, and fails as it is told."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.taken = asyncio.Queue()

    async def __call__(self):
        self.taken.put_nowait(None)
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error

    async def times(self, number):
        for _ in range(number):
            await self.taken.get()


@asynccontextmanager
async def stepping(*args):
    async with asyncio.timeout(PATIENCE_S):
        task = asyncio.create_task(repeat_every(*args))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.mark.parametrize("error", [ValueError("a defect"), RunsUnavailable(django.db.Error())])
async def test_a_failed_step_is_repeated(error):
    step = Step(error)
    async with stepping(0.001, step):
        await step.times(3)


async def test_an_unavailable_database_is_logged_once_until_it_is_back():
    away = RunsUnavailable(django.db.OperationalError("refused"))
    step = Step(away, away, None, away)
    with capture_logs() as logs:
        async with stepping(0.001, step):
            await step.times(6)
    assert [entry["event"] for entry in logs] == ["runs.database_unavailable"] * 2
