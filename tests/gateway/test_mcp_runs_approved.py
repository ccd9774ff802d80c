"""Runs that wait for a person, as both eras of clients see them."""

from dataclasses import replace
from uuid import UUID

import pytest
from mcp_types import ElicitResult

from execution.status import RunStatus
from gateway_project.mcp import consent
from tests.gateway.conftest import ERAS
from tests.gateway.run_requests import FLOW, called, refused, run_done
from tests.gateway.run_views import approval


def waiting(view):
    return replace(view, status=RunStatus.WAITING, approvals=(approval("log"),))


@pytest.fixture
def decided(world, monkeypatch):
    """Have decisions written down here, and runs go on once there is one."""
    made = []

    def decide(caller, which, *, approve, via):
        made.append((caller.user, which, approve, via))
        world.runs.becomes = run_done if approve else waiting
        world.runs.known = replace(world.runs.known, approvals=())

    world.runs.becomes = waiting

    async def at_once(function, /, *given, **options):
        return function(*given, **options)

    monkeypatch.setattr(consent.decide_approval, "decide_approval", decide)
    monkeypatch.setattr(consent.teams, "requires_second_person", lambda _team, _user: False)
    monkeypatch.setattr(consent, "run_in_database_thread", at_once)
    return made


@pytest.mark.parametrize("era", ERAS)
async def test_the_clients_user_is_prompted_and_the_run_continues(connect, world, decided, era):
    asked = []

    async def answer(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})

    async with connect(era, elicitation_callback=answer) as client:
        result = await called(client, "run_workflow", workflow=FLOW)
    assert result["status"] == "succeeded"
    assert decided == [("admin", UUID(int=9), True, "elicitation")]
    assert len(world.runs.started) == 1
    assert "server:log" in asked[0]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["approve", "reject"])
async def test_a_model_s_own_control_run_decides_nothing(connect, decided, era, action):
    async with connect(era) as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        assert first["status"] == "waiting"
        (pending,) = first["pending_approvals"]
        then = await called(
            client, "control_run", run_id=first["run_id"], action=action, approval=pending["id"]
        )
    assert then["status"] == "waiting"
    assert then["pending_approvals"][0]["link"] == f"http://console/{UUID(int=9)}"
    assert "approve asks your user" not in then["next"]
    assert decided == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_with_elicitation_is_told_how_to_prompt_its_user(connect, decided, era):
    async def later(_context, _params):
        return ElicitResult(action="cancel")

    async with connect(era, elicitation_callback=later) as client:
        first = await called(client, "run_workflow", workflow=FLOW)
    assert "control_run approve asks your user" in first["next"]


async def test_an_approval_of_another_run_is_unknown(connect, decided):
    async with connect() as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        error = await refused(
            client, "control_run", run_id=first["run_id"], action="approve", approval="nope"
        )
    assert error["code"] == "unknown_approval"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["approve", "reject"])
@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.SUCCEEDED, RunStatus.ABORTED])
async def test_where_nothing_waits_for_a_person_nothing_is_decided(
    connect, world, decided, era, action, status
):
    world.runs.becomes = lambda view: replace(view, status=status)
    async with connect(era) as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        error = await refused(client, "control_run", run_id=first["run_id"], action=action)
    assert error["code"] == "run_not_waiting"
    assert f"the run is {status}, but {action} requires" in error["text"]
    assert decided == []


@pytest.mark.parametrize("status", ["approved", "rejected", "used", "expired", "withdrawn"])
async def test_an_earlier_decision_is_reported(connect, world, decided, status):
    over = approval("log", status=status)
    world.runs.becomes = lambda view: replace(
        view, status=RunStatus.WAITING, approvals=(over, approval("later", id=UUID(int=10)))
    )
    async with connect() as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        error = await refused(
            client,
            "control_run",
            run_id=first["run_id"],
            action="approve",
            approval=str(over.id),
        )
    assert error["code"] == "approval_not_pending"
    assert f"is already {status}" in error["text"]
    assert decided == []


@pytest.mark.parametrize("era", ERAS)
async def test_no_tool_can_repeat_unknown_calls(connect, world, era):
    async with connect(era) as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        error = await refused(
            client, "control_run", run_id=first["run_id"], action="resume", rerun_unknown=True
        )
    assert error["code"] == "invalid_arguments"
    assert world.runs.handle_notification == []
