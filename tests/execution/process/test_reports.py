"""What servers report of calls under way."""

import asyncio
from uuid import uuid4

import pytest

from execution.process import reports
from execution.process.reports import Report, Reports
from tests.patience import PATIENCE_S

RUN = uuid4()


async def taken(inbox):
    async with asyncio.timeout(PATIENCE_S):
        return await inbox.take()


async def test_of_each_call_the_newest_report_arrives():
    told = Reports()
    with told.listen(RUN) as inbox, told.listen(RUN) as beside:
        told.tell(RUN, "a", -1, 1.0, 3.0, "one")
        told.tell(RUN, "b", 0, 1.0, None, None)
        told.tell(RUN, "a", -1, 2.0, 3.0, "two")
        told.tell(uuid4(), "a", -1, 3.0, 3.0, "of another run")
        newest = [
            Report(task="b", item=0, progress=1.0),
            Report(task="a", item=-1, progress=2.0, total=3.0, message="two"),
        ]
        assert await taken(inbox) == newest
        assert await taken(beside) == newest


async def test_nothing_is_kept_where_nobody_listens():
    told = Reports()
    told.tell(RUN, "a", -1, 1.0, None, None)
    with told.listen(RUN) as inbox:
        waiting = asyncio.create_task(inbox.take())
        await asyncio.sleep(0)
        assert not waiting.done()
        told.tell(RUN, "a", -1, 2.0, None, None)
        assert [report.progress for report in await waiting] == [2.0]


async def test_what_waits_is_bounded():
    told = Reports()
    with told.listen(RUN) as inbox:
        for item in range(reports.MAX_CALLS + 5):
            told.tell(RUN, "a", item, 1.0, None, "x" * 10_000)
        found = await taken(inbox)
    assert [report.item for report in found] == list(range(5, reports.MAX_CALLS + 5))
    assert {len(report.message) for report in found} == {reports.MAX_MESSAGE}


@pytest.mark.parametrize("figure", [float("nan"), float("inf")])
async def test_figures_that_are_none_are_left_out(figure):
    told = Reports()
    with told.listen(RUN) as inbox:
        told.tell(RUN, "a", -1, figure, None, None)
        told.tell(RUN, "b", -1, 1.0, figure, None)
        assert await taken(inbox) == [Report(task="b", item=-1, progress=1.0)]
