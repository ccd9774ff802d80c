"""Which predicted calls are called ahead, and what becomes of the others."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace

import pytest

from execution.call_outcome import ServedSpeculation, SpeculationForm
from execution.speculation.calls import Speculation
from execution.speculation.provenance import Provenance, ProvenanceKind
from execution.speculation.rules import (
    GrantedDefinition,
    ReasonCode,
    SpeculationGrants,
    make_reason,
)
from learning.memory.context import describe_context
from learning.memory.event import EventKind
from learning.sessions import analyst
from tests.gateway.catalogues import catalogue, server
from tests.learning.sessions.live import ANN, BOB, CALL_S, FIND, READ, WRITE, Live
from tests.patience import PATIENCE_S

RECORD = "rec-1001"
FOUND = {"records": [{"record_id": RECORD}]}


class RecordingSpeculation(Speculation):
    """Notes what it is to call ahead, and refuses the tools that it is told to refuse."""

    def __init__(self, *refused):
        self.refused = refused
        self.dispatched = []

    def dispatch(self, caller, early):
        if early.tool in self.refused:
            return (make_reason(ReasonCode.NOT_GRANTED, "Nobody granted it."),)
        self.dispatched.append((caller, early))
        return ()


@pytest.fixture
def speculation():
    return RecordingSpeculation()


@pytest.fixture
def live(speculation):
    return Live(speculation=speculation)


async def test_a_predicted_call_is_called_ahead_with_the_origin_of_its_arguments(
    live, speculation
):
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    ((caller, early),) = speculation.dispatched
    assert (caller, caller.session) == (ANN, ANN.session)
    assert (early.form, early.tool) == (SpeculationForm.NEXT_CALL, READ.tool)
    assert early.arguments == {"record_id": RECORD}
    assert early.provenance == {
        "/record_id": Provenance(kind=ProvenanceKind.RESULT, server="records")
    }
    assert 0.0 < early.next_chance <= early.chance < 1.0
    assert early.expected_s is None


async def test_what_a_search_states_is_called_ahead_as_stated(live, speculation):
    live.registry.record_search(
        ANN, f"read the record '{RECORD}'", context=describe_context(), hits={READ.pk: 0.9}
    )
    await live.pause()
    ((_, early),) = speculation.dispatched
    assert early.provenance["/record_id"].kind is ProvenanceKind.STATED


async def test_a_call_made_ahead_is_no_shadow_prediction(live):
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    assert live.list_predicted() == []
    live.call(READ, {"title": "a"}, record_id=RECORD)
    await live.pause(61.0)
    assert [e for e in live.events if e.kind is EventKind.SPECULATION_END] == []


async def test_a_refused_call_stays_a_shadow_prediction():
    live = Live(speculation=RecordingSpeculation(READ.tool))
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    assert live.list_predicted() == [(READ.pk, {"record_id": RECORD})]
    live.call(READ, {"title": "a"}, record_id=RECORD)
    await live.pause()
    assert live.list_resolved() == [(READ.pk, "HIT")]


async def test_a_shadow_prediction_that_is_called_ahead_later_has_no_outcome_of_its_own():
    speculation = RecordingSpeculation(READ.tool)
    live = Live(speculation=speculation)
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    speculation.refused = ()
    live.call(READ, {"title": "b"}, record_id="rec-0")
    await live.pause()
    assert {"record_id": RECORD} in [early.arguments for _, early in speculation.dispatched]
    live.call(READ, {"title": "a"}, record_id=RECORD)
    await live.pause()
    assert live.list_resolved() == []


async def test_nothing_is_called_ahead_after_the_session_went_on(live, speculation, monkeypatch):
    async def interrupted(function, *args):
        result = function(*args)
        live.call(FIND, owner="bob")
        return result

    monkeypatch.setattr(analyst, "run_in_worker_thread", interrupted)
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    assert speculation.dispatched == []


def start_run(live, *, caller=ANN):
    """Record a run and a call of one of its tasks; return its id and its own caller."""
    run = uuid.uuid4()
    live.registry.record_run(caller, run)
    (session,) = [one for one in live.registry._sessions.values() if one.run == run]
    live.call(FIND, FOUND, caller=session.caller, owner="ann")
    return run, session.caller


async def test_nothing_is_called_ahead_for_a_run_that_goes_on(live, speculation):
    _, own = start_run(live)
    await live.pause()
    assert speculation.dispatched == []
    assert live.list_predicted(own)


async def test_what_follows_a_run_is_called_ahead_for_whoever_started_it(live, speculation):
    live.call(WRITE)
    await live.pause()
    run, own = start_run(live)
    live.registry.record_run_end(run)
    await live.pause()
    ((caller, early),) = speculation.dispatched
    assert (caller, caller.session) == (ANN, ANN.session)
    assert early.arguments == {"record_id": RECORD}
    assert live.registry.find_session(own) is None, "so that it is counted at once"


async def test_a_run_whose_starter_is_not_remembered_calls_nothing_ahead(live, speculation):
    run, _ = start_run(live)
    live.registry._forget(live.session(ANN))
    live.registry.record_run_end(run)
    live.registry.record_run_end(uuid.uuid4())
    await live.pause()
    assert speculation.dispatched == []


async def test_each_call_is_made_for_the_session_that_it_was_predicted_for(live, speculation):
    live.call(FIND, FOUND, owner="ann")
    live.call(FIND, {"records": [{"record_id": "rec-2002"}]}, caller=BOB, owner="bob")
    await live.pause()
    made = [(who.user, early.arguments) for who, early in speculation.dispatched]
    assert made == [("ann", {"record_id": RECORD}), ("bob", {"record_id": "rec-2002"})]


@pytest.mark.parametrize(
    ("name", "changed", "is_predicted"),
    [
        ("records:read_record", {}, True),  # would be proposed for a grant
        ("records:touch_record", {}, False),
        ("records:read_record", {"vetoed": True, "veto_reasons": ("it deletes",)}, False),
    ],
)
async def test_what_a_grant_would_gain_is_known_before_it_is_given(name, changed, is_predicted):
    values = {"tool": name, "name": name.partition(":")[2], "danger": WRITE.danger}
    unknown = replace(READ, definition_hash="a4" * 32, **values, **changed)
    known = catalogue(FIND, unknown, servers=(server("records", trusted=True),))
    live = Live(known=known)
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    assert bool(live.list_predicted()) is is_predicted


async def test_a_granted_tool_is_predicted_whatever_its_name(speculation):
    touched = replace(
        READ,
        tool="records:touch_record",
        name="touch_record",
        danger=WRITE.danger,
        definition_hash="a4" * 32,
    )
    grant = GrantedDefinition(tool=touched.pk, definition_hash="a4" * 32, launch_hash="")
    trusted = server("records", trusted=True, price_per_call=0)
    live = Live(
        known=catalogue(FIND, touched, servers=(trusted,)),
        grants=SpeculationGrants.from_grants([grant]),
        speculation=speculation,
    )
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    assert [early.tool for _, early in speculation.dispatched] == [touched.tool]


async def test_a_served_call_teaches_and_predicts_as_any_other(live, speculation):
    """The result that was ready leads to the next call, and its time counts as the server's."""
    live.call(FIND, FOUND, owner="ann")
    await live.pause()
    served = ServedSpeculation(
        prediction=uuid.uuid4(), form=SpeculationForm.NEXT_CALL, age_s=1.0, saved_s=CALL_S
    )
    found = {"records": [{"record_id": "rec-3003"}]}
    live.call(FIND, found, served=served, owner="zoe")
    await live.pause()
    made = [early.arguments for _, early in speculation.dispatched]
    assert {"record_id": "rec-3003"} in made
    observed = [e for e in live.events if e.kind is EventKind.OBSERVATION]
    assert [e.data["observation"]["ms"] for e in observed] == [1_000 * CALL_S] * 2


class Asked(RecordingSpeculation):
    """Notes how much was dispatched whenever it is asked whether anything may be."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def list_obstacles(self):
        self.asked.append(len(self.dispatched))
        return ()


async def run_until(live, is_done):
    """Run the analyst until something is done."""
    running = asyncio.ensure_future(live.analyst.run())
    async with asyncio.timeout(PATIENCE_S):
        while not is_done():  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_the_switch_is_asked_before_the_session_is_analysed(monkeypatch):
    """It is off until the database has confirmed it, for which the wait leaves time."""
    live = Live(speculation=(speculation := Asked()))
    live.known = catalogue(FIND, READ, servers=(server("records", trusted=True),))
    monkeypatch.setattr(analyst, "IDLE_S", 0.0)
    live.call(FIND, FOUND, owner="ann")
    await run_until(live, lambda: speculation.dispatched)
    assert speculation.asked[0] == 0
