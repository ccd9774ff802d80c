"""Predicted calls are made ahead, and answer exactly the request that they are for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from execution.call_outcome import SpeculationForm
from execution.speculation.calls import SpeculationEnd
from execution.speculation.results import VALID_S
from gateway_project.foundation import telemetry
from learning.memory.event import EventKind, EventOutcome
from tests.gateway.catalogues import catalogue
from tests.learning.sessions.ahead import (
    EARNED_BY,
    OWN_FIND,
    OWN_READ,
    OWN_WRITE,
    SERVER,
    Ahead,
)
from tests.learning.sessions.live import ANN, BOB, CALL_S
from tests.patience import PATIENCE_S

RECORD = "rec-1001"
READING = ("read_record", {"record_id": RECORD})


@pytest.fixture
def ahead():
    return Ahead(
        results={
            "ann": {"records": [{"record_id": RECORD}]},
            RECORD: {"title": "a title", "follows": {"record_id": "rec-2002"}},
            "rec-2002": {"title": "another"},
        }
    )


async def find_and_wait(ahead, **options):
    """Find the record, and let its reading be called ahead."""
    await ahead.request("find_records", owner="ann", **options)
    await ahead.pause()
    assert ahead.list_sent().count(READING) == 1


async def find_and_wait_again(ahead):
    """Find other records, whose reading is called ahead."""
    ahead.results["eve"] = {"records": [{"record_id": "rec-7007"}]}
    await ahead.request("find_records", owner="eve")
    await ahead.pause()


def ends(ahead):
    return [(one.call.arguments.get("record_id"), one.end) for one in ahead.ended]


async def test_a_tool_is_compared_before_it_is_served(ahead):
    for number in range(EARNED_BY):
        owner, record = f"owner {number}", f"rec-50{number}"
        ahead.results[owner] = {"records": [{"record_id": record}]}
        await ahead.request("find_records", owner=owner)
        await ahead.pause()
        outcome = await ahead.request("read_record", record_id=record)
        assert outcome.served is None
        assert ahead.list_sent().count(("read_record", {"record_id": record})) == 2
        assert (record, SpeculationEnd.COMPARED) in ends(ahead)
    await find_and_wait(ahead)
    outcome = await ahead.request("read_record", record_id=RECORD)
    assert outcome.served is not None
    assert ahead.list_sent().count(READING) == 1


async def test_an_earned_call_is_answered_without_asking_the_server(ahead):
    await ahead.earn()
    await find_and_wait(ahead)
    outcome = await ahead.request("read_record", record_id=RECORD)
    assert outcome.result.raw["structuredContent"] == ahead.results[RECORD]
    assert outcome.served.form is SpeculationForm.NEXT_CALL
    assert outcome.served.saved_s == pytest.approx(CALL_S)
    assert ahead.list_sent().count(READING) == 1
    assert (RECORD, SpeculationEnd.SERVED) in ends(ahead)


async def test_a_request_joins_the_call_in_flight(ahead):
    await ahead.earn()
    await ahead.request("find_records", owner="ann")
    ahead.gate.clear()
    await ahead.pause()
    asked = asyncio.ensure_future(ahead.request("read_record", record_id=RECORD))
    await asyncio.sleep(0)
    ahead.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        outcome = await asked
    assert outcome.served is not None
    assert ahead.list_sent().count(READING) == 1


async def test_a_call_in_flight_is_not_made_ahead_too(ahead):
    await ahead.request("find_records", owner="ann")
    ahead.gate.clear()
    asked = asyncio.ensure_future(ahead.request("read_record", record_id=RECORD))
    await asyncio.sleep(0)
    await ahead.pause()
    ahead.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        await asked
    assert ahead.list_sent().count(READING) == 1


@pytest.mark.parametrize(
    "arguments",
    [{"record_id": "rec-1002"}, {"record_id": RECORD, "lines": 2}, {"record_id": f" {RECORD}"}],
)
async def test_a_call_that_differs_in_one_argument_is_not_served(ahead, arguments):
    await ahead.earn()
    await find_and_wait(ahead)
    outcome = await ahead.request("read_record", **arguments)
    assert outcome.served is None
    assert ("read_record", arguments) in ahead.list_sent()


@pytest.mark.parametrize(
    "other",
    [BOB, replace(ANN, user="eve"), replace(ANN, team=2), replace(ANN, session="another")],
)
async def test_the_result_of_another_caller_or_session_is_never_served(ahead, other):
    await ahead.earn()
    await find_and_wait(ahead)
    outcome = await ahead.request("read_record", caller=other, record_id=RECORD)
    assert outcome.served is None
    assert ahead.list_sent().count(READING) == 2


async def test_an_expired_result_is_not_served(ahead):
    await ahead.earn()
    await find_and_wait(ahead)
    ahead.live.clock.now += VALID_S
    outcome = await ahead.request("read_record", record_id=RECORD)
    assert outcome.served is None
    assert (RECORD, SpeculationEnd.UNUSED) in ends(ahead)


async def test_after_a_write_nothing_from_before_is_served(ahead):
    await ahead.earn()
    await find_and_wait(ahead)
    await ahead.request("write_record", record_id=RECORD)
    ahead.results[RECORD] = {"title": "changed"}
    outcome = await ahead.request("read_record", record_id=RECORD)
    assert (outcome.served, outcome.result.raw["structuredContent"]) == (
        None,
        {"title": "changed"},
    )


async def test_a_fresh_call_asks_the_server(ahead):
    await ahead.earn()
    await find_and_wait(ahead)
    outcome = await ahead.request("read_record", record_id=RECORD, is_fresh=True)
    assert outcome.served is None
    assert ahead.list_sent().count(READING) == 2


async def test_one_disagreement_ends_serving(ahead):
    await ahead.earn()
    await find_and_wait(ahead)
    ahead.results[RECORD] = {"title": "changed by somebody else"}
    await ahead.request("read_record", record_id=RECORD, is_fresh=True)
    ahead.results["ann"] = {"records": [{"record_id": "rec-3003"}]}
    await ahead.request("find_records", owner="ann")
    await ahead.pause()
    outcome = await ahead.request("read_record", record_id="rec-3003")
    assert outcome.served is None


async def test_while_the_switch_is_off_predictions_are_shadows(ahead):
    ahead.is_on = False
    await ahead.request("find_records", owner="ann")
    await ahead.pause()
    assert READING not in ahead.list_sent()
    await ahead.request("read_record", record_id=RECORD)
    await ahead.pause()
    assert (OWN_READ.pk, "HIT") in ahead.live.list_resolved()


async def test_a_tool_that_is_not_admissible_is_predicted_and_not_called(ahead):
    untrusted = replace(SERVER, trusted=False)
    ahead.known = catalogue(OWN_FIND, OWN_READ, OWN_WRITE, servers=(untrusted,))
    ahead.live.known = ahead.known
    await ahead.request("find_records", owner="ann")
    await ahead.pause()
    assert READING not in ahead.list_sent()
    assert (OWN_READ.pk, {"record_id": RECORD}) in ahead.live.list_predicted()


@pytest.mark.parametrize("is_earned", [False, True])
async def test_a_call_made_ahead_that_comes_is_a_hit(ahead, is_earned):
    if is_earned:
        await ahead.earn()
    ahead.live.events.clear()
    await find_and_wait(ahead)
    await ahead.request("read_record", record_id=RECORD)
    await ahead.pause()
    (event,) = [e for e in ahead.live.events if e.outcome is EventOutcome.HIT]
    (made,) = [one for one in ahead.ended if one.call.prediction == event.prediction]
    assert (event.kind, event.tool, event.team) == (
        EventKind.SPECULATION_END,
        OWN_READ.pk,
        ANN.team,
    )
    assert event.session == ahead.live.session().hash
    assert event.arguments_hash is not None
    assert event.data == {
        "form": "next_call",
        "chance": pytest.approx(made.call.chance, abs=1e-3),
        "saves_ms": 1_000 * CALL_S if is_earned else 0.0,
        "shadow": False,
        **({"end": "served"} if is_earned else {"end": "compared", "agreed": True}),
    }


async def test_a_call_made_ahead_that_never_comes_is_wasted(ahead):
    await find_and_wait(ahead)
    ahead.live.clock.now += VALID_S
    ahead.speculator._results.remove_expired(ahead.live.clock.now)
    (event,) = [e for e in ahead.live.events if e.tool == OWN_READ.pk and e.outcome]
    assert (event.outcome, event.data["shadow"]) == (EventOutcome.EXPIRED, False)
    assert event.data["saves_ms"] == 1_000 * CALL_S


async def test_a_personal_server_is_called_ahead_through_the_connection_of_its_caller(ahead):
    personal = replace(SERVER, session="per_caller")
    ahead.known = catalogue(OWN_FIND, OWN_READ, OWN_WRITE, servers=(personal,))
    ahead.live.known = ahead.known
    await find_and_wait(ahead)
    assert READING in ahead.list_sent()
    assert ahead.upstream.calls[-1].caller.client_key == ANN.client_key


def count(name, **labels):
    return telemetry.registry.get_sample_value(f"foregate_{name}_total", labels) or 0.0


async def test_what_becomes_of_calls_made_ahead_is_counted(ahead):
    await ahead.earn()
    place = {"server": "records", "form": "next_call"}
    before = (
        count("early_calls", **place, end="served"),
        count("early_call_seconds", **place, use="saved"),
        count("early_call_seconds", **place, use="wasted"),
        count("compared_results", server="records", agreed="yes"),
    )
    await find_and_wait(ahead)
    await ahead.request("read_record", record_id=RECORD)
    await find_and_wait_again(ahead)
    ahead.speculator.discard_server("records")
    after = (
        count("early_calls", **place, end="served"),
        count("early_call_seconds", **place, use="saved"),
        count("early_call_seconds", **place, use="wasted"),
        count("compared_results", server="records", agreed="yes"),
    )
    grown = [now - then for now, then in zip(after, before, strict=True)]
    assert grown[:2] == [1, pytest.approx(CALL_S)]
    assert grown[2] > 0
    assert grown[3] == 0


async def test_a_server_that_connects_for_a_call_made_ahead_does_not_stop_it(ahead):
    await ahead.earn()
    await ahead.request("find_records", owner="ann")
    ahead.gate.clear()
    await ahead.live.pause()
    ahead.speculator.discard_server("records", stops_calls=False)
    ahead.gate.set()
    await ahead.pause()
    outcome = await ahead.request("read_record", record_id=RECORD)
    assert outcome.served is not None
    ahead.speculator.discard_server("records", stops_calls=False)
    outcome = await ahead.request("read_record", record_id=RECORD)
    assert outcome.served is None
