"""What a person approved is what is called, whatever becomes of the run meanwhile."""

from dataclasses import replace

import pytest

from execution.control import Action
from execution.models import Approval
from execution.store import approvals
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.use_cases import decide_approval
from tests.execution.run_setup import ADMIN, Gate, ended, means, planned, process
from tests.gateway.catalogues import catalogue, tool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
STAGING = tool("staging:drop", definition_hash="alike", approval="always")
PROD = tool("prod:drop", definition_hash="alike", approval="always")


async def approve_what_waits():
    (asked,) = await run_in_database_thread(approvals.load_pending)
    await run_in_database_thread(
        decide_approval.decide_approval, ADMIN, asked.id, approve=True, via="console"
    )
    return asked.tool


async def asked_about(runs, name="staging:drop"):
    plan = planned({"id": "a", "tool": name})
    run = (await runs.start(ADMIN, plan)).run
    await ended(runs, run)
    return run


async def replan(runs, run, name):
    new = planned({"id": "a", "tool": name}).workflow
    await runs.control(ADMIN, run, Action.REPLAN, workflow=new)


async def test_approving_a_replaced_call_shows_the_new_one(home, sealer):
    upstream = Gate()
    known = catalogue(STAGING, PROD)
    async with process(
        means(home, sealer, upstream, catalogue=lambda: known), listens=True
    ) as runs:
        run = await asked_about(runs)
        await replan(runs, run, "prod:drop")
        await ended(runs, run)
        assert await approve_what_waits() == "prod:drop"
        assert (await ended(runs, run)).status == "succeeded"
    assert [one.server for one in upstream.calls] == ["prod"]


async def test_an_approval_does_not_cover_the_same_call_of_another_server(home, sealer):
    upstream = Gate()
    known = catalogue(STAGING, PROD)
    async with process(
        means(home, sealer, upstream, catalogue=lambda: known), listens=True
    ) as runs:
        run = await asked_about(runs)
        await runs.control(ADMIN, run, Action.PAUSE)
        assert await approve_what_waits() == "staging:drop"
        await replan(runs, run, "prod:drop")
        await runs.control(ADMIN, run, Action.RESUME)
        view = await ended(runs, run)
    assert (view.status, upstream.calls) == ("waiting", [])
    assert [one.tool for one in view.pending_approvals] == ["prod:drop"]


async def test_a_new_tool_under_an_approved_name_is_not_called(home, sealer):
    upstream = Gate()
    known = [catalogue(STAGING)]
    given = means(home, sealer, upstream, catalogue=lambda: known[0])
    async with process(given, listens=True) as runs:
        run = await asked_about(runs)
        known[0] = catalogue(replace(STAGING, pk=STAGING.pk + 1))
        await approve_what_waits()
        view = await ended(runs, run)
    assert (view.tasks[0].error_code, upstream.calls) == ("not_approved", [])
    assert await run_in_database_thread(Approval.objects.filter(status="used").count) == 0
