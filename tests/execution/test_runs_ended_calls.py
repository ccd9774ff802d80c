"""How the calls of runs are reported, and to which session they belong."""

from dataclasses import replace

import pytest

from execution.snapshot import find_session_run
from tests.execution.run_setup import ADMIN, CHAIN, ended, means, planned, process, until
from tests.gateway.catalogues import FakeUpstream

pytestmark = pytest.mark.django_db(transaction=True)
TALKING = replace(ADMIN, session="a conversation")


async def test_the_calls_of_a_run_belong_to_the_run(home, sealer):
    reported = []
    async with process(means(home, sealer, FakeUpstream(), on_call_ended=reported.append)) as runs:
        started = await runs.start(TALKING, CHAIN)
        await ended(runs, started.run)
    assert [one.arguments["as"] for one in reported] == ["a", "b", "c"]
    assert {find_session_run(one.caller) for one in reported} == {started.run}
    assert {one.caller for one in reported} == {ADMIN}


async def test_the_call_of_a_direct_run_belongs_to_its_conversation(home, sealer):
    reported = []
    plan = planned({"id": "call"})
    async with process(means(home, sealer, FakeUpstream(), on_call_ended=reported.append)) as runs:
        started = await runs.start(TALKING, plan, is_direct=True)
        await ended(runs, started.run)
    assert [one.caller.session for one in reported] == [TALKING.session]


async def test_the_calls_of_an_adopted_run_belong_to_the_run(home, sealer):
    reported = []
    plan = planned({"id": "call"})
    creator = means(home, sealer, FakeUpstream(), is_executor=False)
    async with process(creator) as runs:
        started = await runs.start(TALKING, plan, is_direct=True)
    async with process(means(home, sealer, FakeUpstream(), on_call_ended=reported.append)) as runs:
        await until(lambda: reported)
        await ended(runs, started.run)
    assert [find_session_run(one.caller) for one in reported] == [started.run]
