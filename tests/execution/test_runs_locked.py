"""Runs whose rows are locked by a process that stands still."""

import psycopg
import pytest

from execution.planning import parse
from execution.store import runs, views
from gateway_project.foundation import notify
from gateway_project.foundation.database import MAX_THREADS, run_in_database_thread
from tests.execution.run_setup import ADMIN, Gate, means, planned, process, until_stored

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]

LOCK = "SELECT FROM execution_workflowexecution WHERE id = ANY(%s) FOR NO KEY UPDATE"


def queued(sealer, task):
    workflow = planned({"id": task}).workflow
    new = runs.NewRun(
        caller=ADMIN,
        workflow=parse.dump(workflow),
        tasks=[(one.id, one.tool) for one in workflow.tasks],
        owner="",
    )
    return runs.create_run(new, sealer=sealer).run


def are_done(*wanted):
    return all(views.load_status(run).value == "succeeded" for run in wanted)


async def test_many_locked_runs_do_not_block_others(home, sealer):
    locked = [
        await run_in_database_thread(queued, sealer, f"l{number}") for number in range(MAX_THREADS)
    ]
    free = await run_in_database_thread(queued, sealer, "free")
    parameters = await run_in_database_thread(notify.get_connection_parameters)
    async with await psycopg.AsyncConnection.connect(**parameters) as still:
        await still.execute(LOCK, [locked])
        async with process(means(home, sealer, Gate(), lease_s=1)):
            await until_stored(lambda: are_done(free))
            assert not await run_in_database_thread(are_done, *locked)
            await still.rollback()
            await until_stored(lambda: are_done(*locked))
