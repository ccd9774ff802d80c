import uuid

import pytest

from execution.control import Action
from execution.no_runs import UnavailableRuns
from execution.run_dependencies import RunsUnavailable


async def test_without_run_storage_each_request_reports_it():
    runs, run = UnavailableRuns(), uuid.uuid4()
    for asked in (runs.start, runs.wait, runs.load_view):
        with pytest.raises(RunsUnavailable, match="nothing is set up"):
            await asked(None, run)
    with pytest.raises(RunsUnavailable):
        await runs.control(None, run, Action.ABORT)
    with pytest.raises(RunsUnavailable):
        runs.follow_events(None, run)
    assert not await runs.claim_and_execute(run)
    assert not runs.is_executor
