"""What runs are given and answered stands nowhere in clear, however they end."""

from dataclasses import replace

import pytest
from django.db import connection
from prometheus_client import REGISTRY, generate_latest

from execution.control import Action
from execution.store import approvals
from execution.workflow import OnError, RunOptions
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.references import make_reference
from gateway_project.use_cases import decide_approval
from tests.execution.run_setup import ADMIN, ended, means, planned, process
from tests.gateway.catalogues import FakeUpstream
from tools.upstream.errors import UpstreamRefused
from tools.upstream.result import UpstreamResult

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "correct horse"
GIVEN = {"structuredContent": {"word": SECRET, SECRET: 1, "list": [SECRET]}, "content": []}


def task(name, /, **more):
    arguments = {"as": name, SECRET: SECRET, **more.pop("arguments", {})}
    return {"id": name, "arguments": arguments, **more}


PLAN = planned(
    task("gives"),
    task("asks", tool="s:ask", arguments={"word": make_reference("gives", "/word")}),
    task("misses", arguments={"word": make_reference("gives", f"/{SECRET}/{SECRET}")}),
    task("fails"),
    task("is_refused"),
    task("breaks"),
    task("lists", for_each=make_reference("gives", "/list"), arguments={"item": {"$item": ""}}),
    task("lists_none", for_each=make_reference("gives", "/word")),
)


async def answer(called, _progress):
    match called.arguments["as"]:
        case "gives":
            return UpstreamResult(raw=dict(GIVEN))
        case "is_refused":
            raise UpstreamRefused(server="s", rpc_code=-32000, message=SECRET, data=SECRET)
        case "breaks":
            raise RuntimeError(SECRET)
        case name:
            said = [{"type": "text", "text": SECRET}]
            return UpstreamResult(raw={"content": said, "isError": name == "fails"})


def places_in_clear():
    """Return the tables in which the secret stands."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
        found = []
        for table in tables:
            cursor.execute(
                f'SELECT EXISTS (SELECT FROM "{table}" AS t WHERE t::text LIKE %s)',
                [f"%{SECRET}%"],
            )
            found += [table] if cursor.fetchone()[0] else []
    return found


async def test_run_inputs_and_results_are_never_stored_in_clear(home, sealer):
    plan = replace(PLAN, options=RunOptions(on_error=OnError.CONTINUE))
    async with process(means(home, sealer, FakeUpstream(answer=answer)), listens=True) as runs:
        started = await runs.start(ADMIN, plan, intent=SECRET, idempotency_key=SECRET)
        run = started.run
        assert (await ended(runs, run)).status == "waiting"
        assert await run_in_database_thread(places_in_clear) == []
        other = planned(task("asks", tool="s:ask", arguments={"word": SECRET * 2})).workflow
        await runs.control(ADMIN, run, Action.REPLAN, workflow=other)
        await ended(runs, run)
        (asked,) = await run_in_database_thread(approvals.load_pending)
        await run_in_database_thread(
            decide_approval.decide_approval, ADMIN, asked.id, approve=True, via="console"
        )
        view = await ended(runs, run)
    assert (view.status, view.intent) == ("partial_success", SECRET)
    assert {one.error_code for one in view.tasks} >= {
        "missing_referent",
        "tool_error",
        "not_a_list",
    }
    assert await run_in_database_thread(places_in_clear) == []
    assert SECRET not in generate_latest(REGISTRY).decode()
