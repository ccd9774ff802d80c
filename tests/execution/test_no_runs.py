import uuid

import pytest

from execution.control import Action
from execution.no_runs import NoRuns
from execution.run_means import RunsUnavailable


async def test_where_no_runs_are_kept_each_request_says_so():
    runs, run = NoRuns(), uuid.uuid4()
    for asked in (runs.start, runs.wait, runs.view):
        with pytest.raises(RunsUnavailable, match="nothing is set up"):
            await asked(None, run)
    with pytest.raises(RunsUnavailable):
        await runs.control(None, run, Action.ABORT)
    with pytest.raises(RunsUnavailable):
        runs.follow(None, run)
    assert not await runs.take(run)
    assert not runs.executes
