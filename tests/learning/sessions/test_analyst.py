"""What is predicted for sessions, and how predictions are resolved."""

import asyncio
from dataclasses import replace

import pytest

from gateway_project.foundation import telemetry
from learning.memory.context import describe_context
from learning.memory.event import EventKind
from learning.sessions import analyse, analyst, registry
from tests.gateway.catalogues import catalogue, server
from tests.learning.sessions.live import ANN, BOB, CALL_S, FIND, READ, WRITE, Live
from tests.patience import PATIENCE_S

RECORDS = ("rec-1001", "rec-1002")


@pytest.fixture
def live():
    return Live()


def kinds(live):
    return [event.kind.value for event in live.events]


def count(server_name, outcome):
    labels = {"server": server_name, "outcome": outcome}
    name = "foregate_next_call_predictions_total"
    return telemetry.registry.get_sample_value(name, labels) or 0.0


def unanalysed():
    return telemetry.registry.get_sample_value("foregate_unanalysed_calls_total")


async def test_the_next_calls_are_predicted_from_a_result(live):
    live.call(FIND, {"records": [{"record_id": one} for one in RECORDS]}, owner="ann")
    assert live.list_predicted() == []
    await live.pause()
    assert (READ.pk, {"record_id": RECORDS[0]}) in live.list_predicted()


async def test_an_analysed_call_leaves_what_it_teaches_without_values(live):
    await live.find_and_read(RECORDS[0])
    observed = [event for event in live.events if event.kind is EventKind.OBSERVATION]
    made = [event for event in live.events if event.kind is EventKind.TASK_COMPLETE]
    assert [(e.tool, e.session) for e in observed] == [(e.tool, e.session) for e in made]
    assert all(event.data["observation"] for event in observed)
    assert not any(word in repr(observed) for word in (*RECORDS, "title of"))


async def test_a_predicted_call_that_is_made_is_a_hit(live):
    before = count("records", "hit")
    await live.find_and_read(RECORDS[0])
    assert live.list_resolved()[0] == (READ.pk, "HIT")
    (event,) = [e for e in live.events if e.kind is EventKind.SPECULATION_END]
    read = next(e for e in live.events if e.tool == READ.pk)
    assert event.arguments_hash == read.arguments_hash
    assert event.prediction is not None
    assert event.data["form"] == "next_call"
    assert event.data["shadow"] is True
    assert analyse.MIN_CHANCE <= event.data["chance"] < 1.0
    # The prediction was made just before the call, which it could not shorten by more.
    assert 0.0 <= event.data["saves_ms"] <= 1_000 * CALL_S
    assert count("records", "hit") == before + 1


async def test_a_call_that_may_change_something_makes_all_predictions_miss(live):
    live.call(FIND, {"records": [{"record_id": one} for one in RECORDS]}, owner="ann")
    await live.pause()
    predicted = live.list_predicted()
    live.call(WRITE, record_id=RECORDS[0])
    await live.pause()
    assert live.list_resolved() == [(tool, "MISS") for tool, _ in predicted]


async def test_a_call_that_was_in_flight_when_it_was_predicted_is_no_hit(live):
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    await live.pause()
    live.clock.now -= CALL_S  # the call of 0.25 s began before the prediction
    live.call(READ, record_id=RECORDS[0])
    await live.pause()
    assert live.list_resolved() == []


async def test_a_prediction_expires(live):
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    await live.pause()
    await live.pause(61.0)
    live.call(FIND, owner="bob")
    await live.pause()
    assert (READ.pk, "EXPIRED") in live.list_resolved()


async def test_the_predictions_of_a_forgotten_session_expire(live):
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    await live.pause()
    live.clock.now += registry.FORGET_AFTER_S + 1
    live.analyst.forget_sessions()
    assert live.list_resolved() == [(READ.pk, "EXPIRED")]
    assert len(live.registry) == 0


async def test_a_session_that_goes_on_at_once_gets_no_prediction(live, monkeypatch):
    started = asyncio.get_running_loop().create_future()

    async def interrupted(function, *args):
        result = function(*args)
        live.call(FIND, owner="bob")
        started.set_result(None)
        return result

    monkeypatch.setattr(analyst, "run_in_worker_thread", interrupted)
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    await live.pause()
    assert started.done()
    assert live.list_predicted() == []


async def test_sessions_of_two_callers_do_not_share_results(live):
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    live.call(FIND, {"records": [{"record_id": RECORDS[1]}]}, caller=BOB, owner="bob")
    await live.pause()
    assert live.list_predicted(ANN) == [(READ.pk, {"record_id": RECORDS[0]})]
    assert live.list_predicted(BOB) == [(READ.pk, {"record_id": RECORDS[1]})]
    live.call(READ, caller=BOB, record_id=RECORDS[0])
    await live.pause()
    assert (READ.pk, "HIT") not in live.list_resolved()


async def test_the_words_of_a_search_are_taken_in(live):
    live.registry.record_search(
        ANN, f"read the record '{RECORDS[0]}'", context=describe_context(), hits={READ.pk: 0.9}
    )
    await live.pause()
    assert (READ.pk, {"record_id": RECORDS[0]}) in live.list_predicted()


@pytest.mark.parametrize(
    "changed",
    [
        {"danger": WRITE.danger},
        {"enabled": False},
        {"approval": "always"},
        {"vetoed": True},
        {"team": 9},
        {"state": "quarantined"},
    ],
)
async def test_only_calls_that_could_be_made_ahead_are_predicted(changed):
    live = Live(known=catalogue(FIND, replace(READ, **changed), WRITE))
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    await live.pause()
    assert live.list_predicted() == []


async def test_nothing_is_predicted_of_a_disabled_server_or_without_the_scope():
    known = catalogue(FIND, READ, servers=(server("records", enabled=False),))
    for live, caller in ((Live(known=known), ANN), (Live(), replace(ANN, scopes=frozenset()))):
        live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, caller=caller, owner="ann")
        await live.pause()
        assert live.list_predicted(caller) == []


async def test_beyond_the_processor_budget_calls_are_only_recorded(live):
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    live.analyst._budget.spend(2 * analyst.BURST_S)
    before = unanalysed()
    await live.pause()
    assert unanalysed() == before + 1
    assert kinds(live) == ["task_complete"]
    await live.pause(1_000.0)
    live.call(FIND, {"records": [{"record_id": RECORDS[1]}]}, owner="ann")
    await live.pause()
    assert live.list_predicted() == [(READ.pk, {"record_id": RECORDS[1]})]


async def test_predictions_made_before_a_gap_expire(live):
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    await live.pause()
    live.session().has_gap = True
    live.call(READ, record_id=RECORDS[0])
    await live.pause()
    assert live.list_resolved() == [(READ.pk, "EXPIRED")]


async def test_a_session_that_cannot_be_analysed_harms_no_other(live, monkeypatch, caplog):
    analysed = analyse.analyse_session

    def fail(session, items, **values):
        if session.caller == BOB:
            raise ValueError(RECORDS[1])
        return analysed(session, items, **values)

    monkeypatch.setattr(analyst, "analyse_session", fail)
    live.call(FIND, caller=BOB, owner="bob")
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    await live.pause()
    assert live.list_predicted(ANN) == [(READ.pk, {"record_id": RECORDS[0]})]
    assert live.session(BOB).analysis is None
    assert RECORDS[1] not in caplog.text


async def test_many_values_make_the_oldest_sessions_be_forgotten(live, monkeypatch):
    monkeypatch.setattr(analyst, "MAX_VALUES", 60)
    for number in range(4):
        caller = replace(ANN, session=str(number))
        values = {"records": [{"record_id": f"{number}-{one}"} for one in range(25)]}
        live.call(FIND, values, caller=caller, owner=f"owner {number}")
        await live.pause()
        live.analyst.forget_sessions()
    assert len(live.registry) == 2
    assert live.registry.find_session(replace(ANN, session="3")) is not None


async def test_sessions_are_analysed_as_they_become_idle(monkeypatch):
    live = Live()
    monkeypatch.setattr(analyst, "IDLE_S", 0.0)
    running = asyncio.ensure_future(live.analyst.run())
    live.call(FIND, {"records": [{"record_id": RECORDS[0]}]}, owner="ann")
    async with asyncio.timeout(PATIENCE_S):
        while not live.list_predicted():  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
