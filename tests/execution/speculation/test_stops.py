"""What stops calls made ahead, and what their results must never answer."""

import asyncio
import random
from dataclasses import replace
from functools import partial

import django.db
import pytest

from execution import call
from execution.call_errors import DeadlineExceeded
from execution.call_outcome import SpeculationForm
from execution.speculation.agreements import Agreements
from execution.speculation.calls import SpeculationRefused
from execution.speculation.results import VALID_S
from execution.speculation.speculator import Speculator
from execution.speculation.switch import MAX_AGE_S, SpeculationSwitch
from tests.execution.early_world import OTHER, READ, WRITE, World, settle
from tests.execution.speculation.test_agreements import Shelf
from tests.execution.speculation_setup import ANN
from tools.upstream.errors import ServerStopped
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult


@pytest.fixture
def world():
    return World()


def start(world, **options):
    """Start a request for the call that is in flight."""
    return asyncio.create_task(world.call(id="a", **options))


async def begin(world):
    """Call ahead, and let the server keep it waiting; return what lets it answer."""
    gate = world.upstream.gate = asyncio.Event()
    assert world.dispatch(id="a") == []
    await settle()
    return gate


async def wait_for_cancellation(world):
    for _ in range(100):
        if world.upstream.cancelled:
            return
        await asyncio.sleep(0.02)
    pytest.fail("the call in flight was not stopped")


# The switch.


async def test_what_is_switched_off_while_a_request_waits_is_not_served(world):
    gate = await begin(world)
    request = start(world)
    await settle()
    world.on = False
    gate.set()
    assert (await request).served is None
    assert world.sent == 2


async def test_calls_in_flight_are_stopped_when_it_is_switched_off(world):
    running = asyncio.create_task(world.speculator.run())
    await begin(world)
    world.on = False
    await wait_for_cancellation(world)
    assert world.ends == ["unused"]
    running.cancel()


async def test_without_the_database_it_stops_too(world):
    async def load():
        if is_away.is_set():
            raise django.db.OperationalError
        return True

    is_away = asyncio.Event()
    switch = SpeculationSwitch(load, is_enabled=True, clock=lambda: world.now)
    world.speculator = Speculator(
        replace(world.speculator._dependencies, is_on=lambda: switch.is_on(world.now)),
        clock=lambda: world.now,
    )
    assert world.dispatch(id="a") == ["switched_off"]
    await switch.confirm()
    assert world.dispatch(id="kept") == []
    await settle()
    running = asyncio.create_task(world.speculator.run())
    await begin(world)
    is_away.set()
    world.now += MAX_AGE_S + 0.01
    await switch.confirm()
    await wait_for_cancellation(world)
    world.upstream.gate = None
    assert world.dispatch(id="b") == ["switched_off"]
    assert (await world.call(id="kept")).served is None
    running.cancel()


# Requests that wait for a call made ahead.


async def test_a_request_keeps_its_own_limit_if_the_call_it_waits_for_fails(world):
    gate = await begin(world)

    def fail(_server, _request):
        world.upstream.answer = None
        raise ServerStopped(server="git")

    world.upstream.answer = fail
    request = start(world, timeout_s=1.0)
    await asyncio.sleep(0.3)
    answered = world.upstream.gate = asyncio.Event()
    asyncio.get_running_loop().call_later(0.85, answered.set)  # too late, unless it began anew
    gate.set()
    with pytest.raises(DeadlineExceeded):
        await request
    assert world.sent == 2


async def test_real_calls_take_the_places_of_a_workflow_too(world):
    gate = world.upstream.gate = asyncio.Event()
    early = [
        asyncio.create_task(
            world.speculator.make(ANN, world.early(form=SpeculationForm.INTENT, id=number))
        )
        for number in range(4)
    ]
    await settle()
    requests = [asyncio.create_task(world.call(id=f"real {n}")) for n in range(8)]
    await settle()
    assert world.upstream.cancelled == 4
    for one in early:
        with pytest.raises(SpeculationRefused) as refused:
            await one
        assert [reason.code for reason in refused.value.reasons] == ["no_idle_place"]
    gate.set()
    await asyncio.wait(requests)


async def test_no_more_calls_are_stopped_than_places_are_needed(world):
    gate = world.upstream.gate = asyncio.Event()
    for number in range(4):
        assert world.dispatch(id=number) == []
    await settle()
    requests = [asyncio.create_task(world.call(id=f"real {n}")) for n in range(5)]
    await settle()
    assert world.upstream.cancelled == 1
    gate.set()
    await asyncio.wait(requests)


# Requests that only look the same.


async def test_the_answer_to_a_servers_question_is_sent(world):
    world.dispatch(id="a")
    await settle()
    request = UpstreamRequest.to_call(READ.tool, {"id": "a"})
    answering = replace(request, params={**request.params, "inputResponses": {"q": {}}})
    outcome = await call.call(
        answering,
        caller=ANN,
        catalogue=world.rules.catalogue,
        upstream=world.upstream,
        answer=partial(world.speculator.answer, is_fresh=False),
    )
    assert (outcome.served, world.sent) == (None, 2)


# Tools that never answer the same for long.


def answer_with(world, kind):
    count = iter(range(1_000_000))
    dice = random.Random(1)  # noqa: S311 - a simulation, no secrets
    values = {
        "counter": lambda: next(count),
        "random": dice.random,
        "clock": lambda: round(world.now, 3),
        "seconds": lambda: int(world.now),
        "hours": lambda: int(world.now // 3_600),
    }[kind]

    def answer(_server, _request):
        return UpstreamResult(raw={"content": [{"type": "text", "text": str(values())}]})

    return answer


async def play(world, kind, *, rounds=400):
    """Call ahead and request again and again; return whether each was served, and wrongly."""
    shelf, dice = Shelf(), random.Random(2)  # noqa: S311 - a simulation, no secrets
    agreements = Agreements(load=shelf.load, store=shelf.store, draw=dice.random)
    await agreements.exchange()
    world.speculator = Speculator(
        replace(world.speculator._dependencies, agreements=agreements), clock=lambda: world.now
    )
    world.upstream.answer = answer_with(world, kind)
    served = []
    for number in range(rounds):
        assert world.dispatch(id=number) in ([], ["not_worth_it"])
        await settle()
        world.now += dice.choice([0.05, 0.5, 2.0, 10.0])
        outcome = await world.call(id=number)
        if outcome.served is not None:
            now = world.upstream.answer("", None).raw if kind != "counter" else None
            served.append(outcome.result.raw == now)
    return served


@pytest.mark.parametrize("kind", ["counter", "random", "clock"])
async def test_a_tool_that_answers_otherwise_each_time_is_never_served(world, kind):
    assert await play(world, kind) == []


async def test_a_coarse_clock_loses_what_it_earned(world):
    served = await play(world, "seconds")
    assert len(served) < 40
    assert served.count(False) <= 20


async def test_a_tool_that_stays_the_same_is_served(world):
    assert len(await play(world, "hours")) > 200


# Writes.


async def test_nothing_of_others_is_called_ahead_beside_a_write_at_their_server(world):
    gate = world.upstream.gate = asyncio.Event()
    write = asyncio.create_task(world.call(WRITE, id="x"))
    await settle()
    other = replace(ANN, user="bob")
    assert world.dispatch(caller=other, id="a") == ["unsettled"]
    gate.set()
    await write
    assert world.dispatch(caller=other, id="a") == []


async def test_after_a_write_without_an_answer_nothing_is_called_ahead_for_a_minute(world):
    """It may take effect later."""
    world.upstream.gate = asyncio.Event()
    write = asyncio.create_task(world.call(WRITE, id="x"))
    await settle()
    write.cancel()
    await settle()
    world.upstream.gate = None
    other = replace(ANN, user="bob")
    assert world.dispatch(id="a") == ["unsettled"]
    assert world.dispatch(OTHER, id="a") == ["unsettled"]
    assert world.dispatch(caller=other, id="a") == ["unsettled"]
    assert world.dispatch(OTHER, caller=other, id="a") == []
    world.now += VALID_S
    assert world.dispatch(id="a") == []
    assert world.dispatch(OTHER, id="a") == []
