"""What is called ahead, what it answers, and when it never does."""

import asyncio
from dataclasses import replace

import pytest

from execution.call_errors import DeadlineExceeded
from execution.call_outcome import SpeculationForm
from execution.speculation import results
from execution.speculation.calls import SpeculationRefused
from execution.speculation.in_flight import (
    FIRST_PAUSE_S,
    MAX_FAILURES,
    MIN_ALONE,
    MIN_BESIDE,
    ServerLoad,
)
from tests.execution.early_world import OTHER, READ, SECOND, WRITE, World, settle
from tests.execution.speculation_setup import ANN, grant, plain_tool
from tools.upstream.errors import ServerStopped
from tools.upstream.result import UpstreamResult


@pytest.fixture
def world():
    return World()


async def ready(world, tool=READ, **arguments):
    """Call ahead and wait for the result."""
    assert world.dispatch(tool, **arguments) == []
    await settle()
    assert world.sent == 1


async def test_a_request_is_answered_with_the_result_of_the_same_call_made_ahead(world):
    await ready(world, id="a")
    world.now += 2.0
    outcome = await world.call(id="a")
    assert world.sent == 1
    assert outcome.result.raw["content"][0]["text"] == "show {'id': 'a'} 0"
    assert (outcome.served.form, outcome.served.age_s) == (SpeculationForm.NEXT_CALL, 2.0)
    assert world.ends == ["served"]


@pytest.mark.parametrize("given", [{"id": "b"}, {"id": "a", "n": 1}, {}, {"id": ["a"]}])
async def test_other_arguments_are_not_answered_ahead(world, given):
    await ready(world, id="a")
    assert (await world.call(given=given)).served is None
    assert world.sent == 2


@pytest.mark.parametrize(
    ("ahead", "requested"), [(1, 1.0), (1, True), (1, "1"), (0.0, -0.0), (None, "null")]
)
async def test_numbers_texts_and_booleans_are_told_apart(world, ahead, requested):
    await ready(world, id=ahead)
    assert (await world.call(id=requested)).served is None


@pytest.mark.parametrize(
    "other", [SECOND, replace(ANN, user="bob"), replace(ANN, team=8), replace(ANN, team=None)]
)
async def test_nobody_else_is_answered_with_it(world, other):
    await ready(world, id="a")
    assert (await world.call(caller=other, id="a")).served is None
    assert world.sent == 2


@pytest.mark.parametrize(("first", "second"), [(None, "desk"), ("desk", None), ("desk", "hall")])
async def test_the_same_session_under_another_group_is_not_answered_with_it(first, second):
    read = replace(READ, groups=frozenset({"desk", "hall"}))
    world = World(read, WRITE)
    assert world.dispatch(read, caller=replace(ANN, group=first), id="a") == []
    await settle()
    assert (await world.call(read, caller=replace(ANN, group=second), id="a")).served is None
    assert (await world.call(read, caller=replace(ANN, group=first), id="a")).served is not None


async def test_a_result_expires(world):
    await ready(world, id="a")
    world.now += results.VALID_S
    assert (await world.call(id="a")).served is None
    assert world.ends == ["unused"]


async def test_a_call_in_flight_is_joined(world):
    world.upstream.gate = asyncio.Event()
    world.dispatch(id="a")
    await settle()
    joined = [asyncio.create_task(world.call(id="a")) for _ in range(3)]
    await settle()
    world.upstream.gate.set()
    outcomes = [await one for one in joined]
    assert world.sent == 1
    assert all(one.served is not None and one.served.age_s == 0 for one in outcomes)


async def test_ending_a_request_does_not_end_the_call_that_others_wait_for(world):
    world.upstream.gate = asyncio.Event()
    world.dispatch(id="a")
    await settle()
    first, second = (asyncio.create_task(world.call(id="a")) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    world.upstream.gate.set()
    assert (await second).served is not None
    assert world.upstream.cancelled == 0


async def test_a_request_waits_no_longer_than_its_own_limit(world):
    world.upstream.gate = asyncio.Event()
    world.dispatch(id="a")
    await settle()
    with pytest.raises(DeadlineExceeded):
        await world.call(id="a", timeout_s=0.01)


async def test_if_a_joined_call_fails_the_request_is_made(world):
    gate = world.upstream.gate = asyncio.Event()

    def fail(_server, _request):
        world.upstream.answer = None
        raise ServerStopped(server="git")

    world.upstream.answer = fail
    world.dispatch(id="a")
    await settle()
    joined = asyncio.create_task(world.call(id="a"))
    await settle()
    gate.set()
    outcome = await joined
    assert (outcome.served, world.sent) == (None, 2)


@pytest.mark.parametrize(
    "raw",
    [
        {"content": [], "isError": True},
        {"resultType": "input_required"},
        {"content": [{"type": "text", "text": "x" * (results.MAX_RESULT_CHARACTERS + 1)}]},
    ],
)
async def test_errors_questions_and_large_results_are_not_kept(world, raw):
    world.upstream.answer = lambda _server, _request: UpstreamResult(raw=raw)
    await ready(world, id="a")
    world.upstream.answer = None
    assert (await world.call(id="a")).served is None
    assert world.ends == ["failed"]


# Never stale.


async def test_a_write_discards_what_its_caller_and_its_server_have(world):
    ben = replace(ANN, user="ben")
    world.dispatch(id="a")
    world.dispatch(OTHER, id="a")
    world.dispatch(caller=ben, id="a")
    world.dispatch(OTHER, caller=ben, id="a")
    await settle()
    await world.call(WRITE)
    assert (await world.call(id="a")).served is None
    assert (await world.call(OTHER, id="a")).served is None
    assert (await world.call(caller=ben, id="a")).served is None
    assert (await world.call(OTHER, caller=ben, id="a")).served is not None


async def test_what_began_before_a_write_ended_is_never_kept(world):
    world.upstream.gate = asyncio.Event()
    world.dispatch(id="a")
    await settle()
    write = asyncio.create_task(world.call(WRITE))
    await settle()
    assert world.upstream.cancelled == 1
    assert world.dispatch(id="b") == ["unsettled"]
    assert world.dispatch(OTHER, id="b") == ["unsettled"]
    world.upstream.gate.set()
    await write
    world.upstream.gate = None
    assert (await world.call(id="a")).served is None
    assert world.dispatch(id="b") == []


async def test_a_failed_write_discards_too(world):
    await ready(world, id="a")

    def fail(_server, _request):
        raise ServerStopped(server="git")

    world.upstream.answer = fail
    with pytest.raises(ServerStopped):
        await world.call(WRITE)
    world.upstream.answer = None
    assert (await world.call(id="a")).served is None


async def test_a_changed_definition_or_a_lost_grant_is_not_served(world):
    await ready(world, id="a")
    world.change_tools(replace(READ, definition_hash="c" * 64), OTHER, WRITE)
    assert (await world.call(replace(READ, definition_hash="c" * 64), id="a")).served is None
    granted = plain_tool("git:peek", pk=9)
    world.change_tools(granted, grants=[grant(granted)])
    world.agreements.served.add("git:peek")
    assert world.dispatch(granted, id="a") == []
    await settle()
    assert (await world.call(granted, id="a")).served is not None
    world.change_tools(granted, grants=[])
    assert (await world.call(granted, id="a")).served is None


async def test_a_reconnected_server_is_asked_anew(world):
    await ready(world, id="a")
    world.speculator.discard_server("git")
    assert (await world.call(id="a")).served is None


async def test_the_client_can_ask_for_a_new_answer(world):
    await ready(world, id="a")
    assert (await world.call(id="a", is_fresh=True)).served is None
    assert (world.sent, world.ends) == (2, ["compared"])


# Earning.


async def test_before_it_has_earned_it_a_tool_is_only_compared(world):
    world.agreements.served.clear()
    await ready(world, id="a")
    world.now += 3.0
    assert (await world.call(id="a")).served is None
    assert world.agreements.compared == [("git:show", True, 3.0)]
    assert [(one.end.value, one.agreed) for one in world.ended] == [("compared", True)]


async def test_a_result_that_differs_is_a_disagreement(world):
    world.agreements.served.clear()
    await ready(world, id="a")
    world.upstream.state["git"] = 5
    await world.call(id="a")
    assert world.agreements.compared == [("git:show", False, 0.0)]


async def test_after_a_disagreement_next_calls_are_not_made_ahead_and_intents_are(world):
    world.agreements.failed.add("git:show")
    assert world.dispatch(id="a") == ["not_worth_it"]
    assert world.dispatch(form=SpeculationForm.INTENT, id="a") == []


async def test_a_write_meanwhile_leaves_nothing_to_compare(world):
    world.agreements.served.clear()
    await ready(world, id="a")
    world.upstream.gate = asyncio.Event()
    request = asyncio.create_task(world.call(id="a"))
    await settle()
    world.speculator.discard_server("git")
    world.upstream.gate.set()
    await request
    assert world.agreements.compared == []


@pytest.mark.parametrize("form", [SpeculationForm.INTENT, SpeculationForm.NEXT_LAYER])
async def test_results_of_an_intent_need_not_be_earned(world, form):
    world.agreements.served.clear()
    world.dispatch(form=form, id="a")
    await settle()
    assert (await world.call(id="a")).served.form is form


# An intent made ahead of the same call.


async def make_intent(world, **arguments):
    return await world.speculator.make(ANN, world.early(form=SpeculationForm.INTENT, **arguments))


async def test_an_intent_takes_the_result_of_a_next_call_that_would_be_served(world):
    await ready(world, id="a")
    await make_intent(world, id="a")
    assert (world.sent, world.ends) == (1, ["served"])


async def test_an_intent_replaces_the_result_of_a_next_call_that_has_not_earned_it(world):
    world.agreements.served.clear()
    await ready(world, id="a")
    await make_intent(world, id="a")
    assert (world.sent, world.ends) == (2, [])
    await world.call(id="a")
    assert (world.sent, world.ends) == (2, ["served", "served"])


async def test_a_replaced_result_was_unused_where_its_successor_was(world):
    world.agreements.served.clear()
    await ready(world, id="a")
    await make_intent(world, id="a")
    world.speculator.discard_all()
    assert world.ends == ["unused", "unused"]


async def test_the_result_of_an_intent_replaces_that_of_another_intent(world):
    await make_intent(world, id="a")
    await make_intent(world, id="a")
    assert (world.sent, world.ends) == (2, ["unused"])


# Never in the way, and never when switched off.


async def test_switched_off_nothing_is_called_ahead_or_served(world):
    await ready(world, id="a")
    world.on = False
    assert (await world.call(id="a")).served is None
    assert world.dispatch(id="b") == ["switched_off"]
    world.on = True
    assert (await world.call(id="a")).served is None


async def test_what_is_switched_off_while_money_is_reserved_is_not_sent(world):
    reserving = asyncio.Event()

    async def reserve(early, tool, *, caller):
        await reserving.wait()
        return early.prediction

    world.allowance.reserve = reserve
    world.dispatch(id="a")
    await settle()
    world.on = False
    reserving.set()
    await settle()
    assert world.sent == 0
    assert [made for _, made in world.allowance.settled] == [False]


async def test_a_call_that_money_refuses_has_no_end_to_report(world):
    async def refuse(early, tool, *, caller):
        raise SpeculationRefused(())

    world.allowance.reserve = refuse
    world.dispatch(id="a")
    await settle()
    assert (world.sent, world.ended) == (0, [])


async def test_only_idle_places_are_taken(world):
    world.upstream.gate = asyncio.Event()
    assert [world.dispatch(id=n) for n in range(4)] == [[]] * 4
    assert world.dispatch(id=4) == ["no_idle_place"]
    assert world.dispatch(OTHER, id=4) == []


async def test_requests_take_places_from_calls_made_ahead(world):
    world.upstream.gate = asyncio.Event()
    for number in range(4):
        world.dispatch(id=number)
    await settle()
    requests = [asyncio.create_task(world.call(id=f"real {n}")) for n in range(8)]
    await settle()
    assert world.upstream.cancelled == 4
    assert world.ends == ["unused"] * 4
    world.upstream.gate.set()
    await asyncio.wait(requests)


async def test_a_call_that_a_client_makes_is_not_made_ahead_beside_it(world):
    world.upstream.gate = asyncio.Event()
    request = asyncio.create_task(world.call(id="a"))
    await settle()
    assert world.dispatch(id="a") == []
    await settle()
    assert world.sent == 1
    world.upstream.gate.set()
    await request


async def test_the_same_call_is_made_ahead_once(world):
    world.dispatch(id="a")
    world.dispatch(id="a")
    await settle()
    assert world.sent == 1


async def test_a_troubled_server_is_left_alone(world):
    world.trouble = "it stopped"
    assert world.dispatch(id="a") == ["backing_off"]


async def test_after_failures_a_server_is_left_alone_for_a_while(world):
    def fail(_server, _request):
        raise ServerStopped(server="git")

    world.upstream.answer = fail
    for number in range(MAX_FAILURES):
        world.dispatch(id=number)
        await settle()
    assert world.dispatch(id="a") == ["backing_off"]
    world.now += FIRST_PAUSE_S
    assert world.dispatch(id="a") == []


def note(load, *durations_s, tool=1, beside, now=0.0):
    for duration_s in durations_s:
        load.note_real(tool, duration_s, beside_early=beside, now=now)


def test_calls_that_slow_down_requests_are_stopped_for_longer_and_longer():
    load = ServerLoad()
    note(load, *[0.1] * MIN_ALONE, beside=False)
    note(load, *[0.2] * MIN_BESIDE, beside=True)
    assert load.is_backing_off(FIRST_PAUSE_S - 1)
    assert not load.is_backing_off(FIRST_PAUSE_S)
    note(load, *[0.2] * MIN_BESIDE, beside=True, now=100.0)
    assert load.is_backing_off(100.0 + 2 * FIRST_PAUSE_S - 1)


def test_after_calls_that_slowed_nothing_down_the_next_pause_is_short_again():
    load = ServerLoad()
    note(load, *[0.1] * MIN_ALONE, beside=False)
    note(load, *[0.2] * MIN_BESIDE, beside=True)
    note(load, *[0.1] * MIN_BESIDE, beside=True, now=100.0)
    note(load, *[0.9] * MIN_BESIDE, beside=True, now=200.0)
    assert load.is_backing_off(200.0 + FIRST_PAUSE_S - 1)
    assert not load.is_backing_off(200.0 + FIRST_PAUSE_S)


@pytest.mark.parametrize(
    ("alone", "beside"),
    [
        ([0.1] * 50, [0.11] * 50),
        ([0.1] * 20, [0.1] * 9 + [8.0] + [0.1] * 20),  # the machine was busy
        ([0.002] * 20, [0.01] * 20),  # too little to matter
        ([0.1] * (MIN_ALONE - 1), [0.9] * 50),
        ([0.1] * 20, [0.9] * (MIN_BESIDE - 1)),
    ],
)
def test_calls_that_slow_down_nothing_go_on(alone, beside):
    load = ServerLoad()
    note(load, *alone, beside=False)
    note(load, *beside, beside=True)
    assert not load.is_backing_off(0.0)


def test_a_slow_tool_is_not_compared_with_a_quick_one():
    load = ServerLoad()
    note(load, *[0.01] * 20, beside=False)
    note(load, *[0.8] * 20, tool=2, beside=False)
    note(load, *[0.8] * 20, tool=2, beside=True)
    assert not load.is_backing_off(0.0)


async def test_budgets_refuse_before_anything_is_sent(world):
    world.allowance.reasons = world.speculator.dispatch(ANN, world.early(WRITE))[:1]
    assert len(world.dispatch(id="a")) == 1
    assert world.sent == 0


# Making and waiting, bounds, ends.


async def test_a_workflow_waits_for_its_calls_and_shares_them(world):
    outcome = await world.speculator.make(ANN, world.early(id="a"))
    again = await world.speculator.make(ANN, world.early(id="a"))
    assert outcome is again
    assert world.sent == 1
    with pytest.raises(SpeculationRefused) as refused:
        await world.speculator.make(ANN, world.early(WRITE))
    assert "not_granted" in {reason.code.value for reason in refused.value.reasons}


async def test_the_error_of_a_call_made_ahead_reaches_who_waits_for_it(world):
    def fail(_server, _request):
        raise ServerStopped(server="git")

    world.upstream.answer = fail
    with pytest.raises(ServerStopped):
        await world.speculator.make(ANN, world.early(id="a"))


async def test_a_rejected_prediction_takes_its_results_along(world):
    early = world.early(id="a")
    world.speculator.dispatch(ANN, early)
    await settle()
    world.speculator.discard_prediction(early.prediction)
    assert (await world.call(id="a")).served is None


async def test_memory_is_bounded(world, monkeypatch):
    monkeypatch.setattr(results, "MAX_RESULTS", 3)
    for number in range(6):
        world.dispatch(id=number)
        await settle()
    assert world.speculator.kept[0] == 3
    monkeypatch.setattr(results, "MAX_CHARACTERS", 100)
    world.dispatch(id="x")
    await settle()
    assert world.speculator.kept[1] <= 100


async def test_ending_the_process_stops_what_is_in_flight(world):
    world.upstream.gate = asyncio.Event()
    running = asyncio.create_task(world.speculator.run())
    await settle()
    world.dispatch(id="a")
    await settle()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (world.upstream.cancelled, world.ends) == (1, ["unused"])


async def test_a_call_that_is_discarded_before_it_begins_ends_too(world):
    assert world.dispatch(id="1") == []
    world.speculator.discard_all()
    await settle()
    assert (world.ends, world.sent) == (["unused"], 0)


async def test_a_storm_of_discards_leaves_nothing_behind(world):
    world.upstream.gate = asyncio.Event()
    dispatched = 0
    for number in range(200):
        dispatched += world.dispatch(id=str(number)) == []
        await settle(number % 4)
        world.speculator.discard_server("git")
    await settle(20)
    assert dispatched == 200
    assert world.ends == ["unused"] * 200
    assert world.upstream.cancelled == world.sent < 200
    assert world.speculator.kept == (0, 0)


async def test_an_answer_after_cancellation_is_not_kept(world):
    finished = []

    async def answer_though_cancelled(_server, _request, *, caller):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            finished.append(True)
        return UpstreamResult(raw={"content": [{"type": "text", "text": "late"}]})

    world.upstream.call_tool = answer_though_cancelled
    assert world.dispatch(id="1") == []
    await settle()
    world.speculator.discard_all()
    await settle()
    assert finished
    assert world.speculator.kept == (0, 0)
    assert world.ends == ["unused"]


async def test_every_call_made_ahead_ends_once_and_gives_its_place_back(world):
    for number in range(30):
        world.dispatch(id=number)
        await settle()
        await world.call(id=number)
        await world.call(id=number)
    world.speculator.discard_all()
    await settle()
    assert len(world.ended) == len(world.allowance.settled) == 30
    assert world.dispatch(id="more") == []
