"""What servers report of calls under way."""

import asyncio
from uuid import uuid4

import pytest

from execution.process import progress_relay
from execution.process.progress_relay import ProgressRelay, ProgressReport
from tests.patience import PATIENCE_S

RUN = uuid4()


async def taken(inbox):
    async with asyncio.timeout(PATIENCE_S):
        return await inbox.take()


async def test_only_the_newest_report_of_each_call_is_delivered():
    told = ProgressRelay()
    with told.listen(RUN) as inbox, told.listen(RUN) as beside:
        told.publish(RUN, "a", -1, 1.0, 3.0, "one")
        told.publish(RUN, "b", 0, 1.0, None, None)
        told.publish(RUN, "a", -1, 2.0, 3.0, "two")
        told.publish(uuid4(), "a", -1, 3.0, 3.0, "of another run")
        newest = [
            ProgressReport(task="b", item=0, progress=1.0),
            ProgressReport(task="a", item=-1, progress=2.0, total=3.0, message="two"),
        ]
        assert await taken(inbox) == newest
        assert await taken(beside) == newest


async def test_pending_reports_are_bounded():
    told = ProgressRelay()
    with told.listen(RUN) as inbox:
        for item in range(progress_relay.MAX_PENDING_REPORTS + 5):
            told.publish(RUN, "a", item, 1.0, None, "x" * 10_000)
        found = await taken(inbox)
    assert [report.item for report in found] == list(
        range(5, progress_relay.MAX_PENDING_REPORTS + 5)
    )
    assert {len(report.message) for report in found} == {progress_relay.MAX_MESSAGE_CHARS}


@pytest.mark.parametrize("figure", [float("nan"), float("inf")])
async def test_invalid_progress_numbers_are_omitted(figure):
    told = ProgressRelay()
    with told.listen(RUN) as inbox:
        told.publish(RUN, "a", -1, figure, None, None)
        told.publish(RUN, "b", -1, 1.0, figure, None)
        assert await taken(inbox) == [ProgressReport(task="b", item=-1, progress=1.0)]
