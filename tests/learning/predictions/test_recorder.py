"""What follows a suggestion resolves it, in the process that gave it and in any other."""

import asyncio
import threading
from dataclasses import replace
from uuid import uuid4

import django.db
import pytest

from execution.call import EndedCall
from execution.models import Speculation
from execution.run_dependencies import RunsUnavailable
from execution.speculation.outcome import RESOLVE_AFTER_S, Outcome, Verdict
from execution.store.speculations import UnknownSpeculation
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.canonical import hash_json
from gateway_project.foundation.database import run_in_database_thread
from learning.memory.context import ContextKey
from learning.memory.event import EventKind, EventOutcome
from learning.predictions import recorder as recorders
from learning.predictions.open_intents import PredictedIntent
from learning.predictions.record import RecordDependencies
from learning.predictions.recorder import PredictionRecorder
from tests.execution.stored import ended
from tests.execution.workflows import known_task
from tests.factories import TeamFactory
from tests.gateway.catalogues import tool
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

ANN = Caller(
    user="ann", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio", session="s1"
)
START = 1_700_000_000.0
STEPS = (
    known_task("a", 1, {"name": "Ann"}),
    known_task("b", 2, {"to": {"$ref": "a", "pointer": "/mail"}}),
)
OTHERS = (known_task("x", 9),)
CHANGED = (STEPS[0],)


def digest(*parts):
    return hash_json(list(parts))


class World:
    """A process: its recorder, what it has recorded and taught, and its clock."""

    def __init__(self, **collaborators):
        self.now = START
        self.events, self.taught = [], []
        self.recorder = PredictionRecorder(
            RecordDependencies(digest=digest, record_event=self.events.append, **collaborators),
            learn=self.taught.extend,
            clock=lambda: self.now,
        )

    def suggest(self, tasks=STEPS, *, caller=ANN, intent="write to Ann", **given):
        speculation = uuid4()
        values = {
            "confidence": 0.9,
            "ranked_confidence": 0.95,
            "threshold": 0.92,
            "is_admitted": False,
            "is_runnable": True,
            "context": ContextKey(context=5, domain=6),
        }
        self.recorder.note_intent(
            PredictedIntent(
                id=speculation, caller=caller.session_key, intent=intent, tasks=tuple(tasks),
                at=self.now, **{**values, **given},
            )
        )  # fmt: skip
        return speculation

    def run(self, run, tasks=STEPS, *, caller=ANN, intent="", speculation=None):
        self.recorder.note_run(caller, run, tasks=tasks, intent=intent, speculation=speculation)

    def call(self, pk, caller=ANN, code="", **arguments):
        called = None if pk is None else tool("s:t", pk=pk)
        self.recorder.note_call(
            EndedCall(
                caller=caller, tool=called, arguments=arguments, code=code, result=None,
                duration_s=0.1,
            )
        )  # fmt: skip

    async def outcome(self, speculation):
        """Let the time pass in which it could be contradicted; return what it came to."""
        await self.recorder.flush()
        self.now += RESOLVE_AFTER_S
        await self.recorder.resolve_due()
        row = await run_in_database_thread(Speculation.objects.get, pk=speculation)
        return row.outcome, row.weight

    async def judge(self, speculation, verdict="accept", *, caller=ANN, **more):
        return await self.recorder.give_feedback(caller, speculation, Verdict(verdict), **more)


async def stored_outcomes():
    return await run_in_database_thread(
        lambda: dict(Speculation.objects.values_list("pk", "outcome"))
    )


@pytest.fixture
def world():
    return World()


@pytest.fixture
def _quickly(monkeypatch):
    monkeypatch.setattr(recorders, "OTHER_PROCESS_WAIT_S", 0.0)


async def run_ended(sealer, status="succeeded"):
    return await run_in_database_thread(ended, sealer, status)


async def test_a_suggestion_is_recorded_without_its_values(world):
    speculation = world.suggest()
    await world.recorder.flush()
    row = await run_in_database_thread(Speculation.objects.get, pk=speculation)
    assert (row.user, row.team_id, row.tools) == ("ann", None, [1, 2])
    assert (row.confidence, row.threshold, row.shadow, row.runnable) == (0.9, 0.92, True, True)
    assert (row.context_hash, row.domain_hash, row.outcome) == (5, 6, "")
    assert (row.saves_ms, row.tokens) == (None, None)
    assert "Ann" not in str(vars(row))
    (event,) = world.events
    assert (event.kind, event.prediction) == (EventKind.SPECULATION_START, speculation)
    assert "Ann" not in str(event)


async def test_calls_that_carry_it_out_are_a_hit(world):
    speculation = world.suggest()
    world.call(1, name="Ann")
    world.call(2, to="ann@x.org")
    assert await world.outcome(speculation) == ("hit", 0.5)
    assert [(one.succeeded, one.confidence) for one in world.taught] == [(True, 0.9)]
    assert world.events[-1].outcome is EventOutcome.HIT
    assert world.events[-1].prediction == speculation


async def test_other_calls_are_a_miss_and_calls_of_another_session_nothing(world):
    missed, untouched = world.suggest(), world.suggest(caller=replace(ANN, session="s2"))
    world.call(9)
    assert await world.outcome(missed) == ("miss", 0.5)
    assert await world.outcome(untouched) == ("expired", 0.0)


@pytest.mark.parametrize(
    ("status", "outcome"), [("succeeded", ("hit", 0.5)), ("failed", ("miss", 0.5))]
)
async def test_a_run_of_the_same_workflow_counts_as_it_ended(world, sealer, status, outcome):
    speculation = world.suggest()
    world.run(await run_ended(sealer, status))
    assert await world.outcome(speculation) == outcome


async def test_a_changed_workflow_for_the_same_words_is_a_modified_suggestion(world, sealer):
    speculation, other = world.suggest(), world.suggest(OTHERS, intent="another")
    world.run(await run_ended(sealer), OTHERS, intent="write to Ann")
    assert await world.outcome(speculation) == ("miss", 0.5)
    assert await world.outcome(other) == ("expired", 0.0)


async def test_without_words_the_run_confirms_the_suggestion_that_it_resembles_most(world, sealer):
    same, near = world.suggest(intent="a"), world.suggest(CHANGED, intent="b")
    world.run(await run_ended(sealer), STEPS)
    assert await world.outcome(same) == ("hit", 0.5)
    again = world.suggest(intent="c")
    world.run(await run_ended(sealer), CHANGED, caller=replace(ANN, session="other"))
    world.run(await run_ended(sealer), (STEPS[1],))
    assert await world.outcome(again) == ("modified", 0.5)
    assert await world.outcome(near) == ("expired", 0.0)


async def test_a_run_may_name_its_suggestion_in_another_process(world, sealer):
    speculation = world.suggest()
    await world.recorder.flush()
    elsewhere = World()
    elsewhere.run(await run_ended(sealer), speculation=speculation)
    await elsewhere.recorder.flush()
    assert await world.outcome(speculation) == ("hit", 0.5)


@pytest.mark.parametrize("thief", [replace(ANN, user="bob"), "another team"])
async def test_a_run_cannot_name_somebody_elses_suggestion(world, sealer, thief):
    if isinstance(thief, str):
        thief = replace(ANN, team=(await run_in_database_thread(TeamFactory)).pk)
    speculation = world.suggest()
    world.run(await run_ended(sealer), OTHERS, caller=thief, speculation=speculation)
    assert await world.outcome(speculation) == ("expired", 0.0)


async def test_feedback_counts_at_once_even_before_the_suggestion_was_written(world):
    speculation = world.suggest()
    given = await world.judge(speculation, "modify", stated=CHANGED)
    assert given.as_json() == {
        "speculation_id": speculation.hex,
        "outcome": "modified",
        "recorded": True,
    }
    assert [one.weight for one in world.taught] == [1.0]
    world.call(1, name="Ann")
    assert world.recorder._pending == []


async def test_feedback_counts_once(world):
    speculation = world.suggest()
    counter = telemetry.predictions.labels("intent", "shadow", "hit")
    before = counter._value.get()
    await world.judge(speculation)
    again = await world.judge(speculation)
    assert (again.outcome, again.is_new) == (Outcome.HIT, False)
    assert len(world.taught) == 1
    assert counter._value.get() == before + 1
    assert [event.kind for event in world.events].count(EventKind.SPECULATION_END) == 1


@pytest.mark.usefixtures("_quickly")
@pytest.mark.parametrize("thief", [replace(ANN, user="bob"), "another team"])
async def test_somebody_elses_suggestion_is_unknown(world, thief):
    if isinstance(thief, str):
        thief = replace(ANN, team=(await run_in_database_thread(TeamFactory)).pk)
    speculation = world.suggest()
    with pytest.raises(UnknownSpeculation):
        await world.judge(speculation, caller=thief)
    assert (await world.judge(speculation)).is_new


async def test_feedback_waits_for_a_suggestion_that_another_process_is_writing(world, monkeypatch):
    speculation = world.suggest()
    elsewhere = World()

    async def write_meanwhile(_seconds):
        await world.recorder.flush()

    monkeypatch.setattr(recorders.asyncio, "sleep", write_meanwhile)
    assert (await elsewhere.judge(speculation)).outcome is Outcome.HIT


async def test_jobs_wait_while_the_database_is_away(world, monkeypatch):
    speculation = world.suggest()
    real = recorders.record_jobs

    def refuse(*_):
        raise django.db.OperationalError("away")

    monkeypatch.setattr(recorders, "record_jobs", refuse)
    with pytest.raises(django.db.OperationalError):
        await world.recorder.flush()
    world.call(9)
    monkeypatch.setattr(recorders, "record_jobs", real)
    assert await world.outcome(speculation) == ("miss", 0.5)


async def test_feedback_without_a_database_says_so(world, monkeypatch):
    def refuse(*_, **__):
        raise django.db.OperationalError("away")

    monkeypatch.setattr(recorders.outcomes, "give_verdict", refuse)
    with pytest.raises(RunsUnavailable):
        await world.judge(world.suggest())


async def test_feedback_is_refused_in_time_if_the_database_does_not_answer(world, monkeypatch):
    released = threading.Event()
    speculation = world.suggest()
    await world.recorder.flush()
    monkeypatch.setattr(recorders, "FEEDBACK_TIMEOUT_S", 0.01)
    with monkeypatch.context() as hung:
        hung.setattr(recorders.outcomes, "give_verdict", lambda *_, **__: released.wait())
        try:
            with pytest.raises(RunsUnavailable, match=r"no answer within 0\.01 s"):
                await world.judge(speculation)
        finally:
            released.set()


async def test_memory_is_bounded_while_the_database_is_away(world, monkeypatch):
    monkeypatch.setattr(recorders, "MAX_PENDING", 2)
    for _ in range(3):
        world.suggest()
    assert (len(world.recorder._pending), world.recorder.dropped) == (2, 1)


async def test_in_the_background_all_is_recorded_and_resolved(world, monkeypatch):
    monkeypatch.setattr(recorders, "RESOLVE_INTERVAL_S", 0.0)
    monkeypatch.setattr(recorders, "RETRY_S", 0.0)
    real, failures = recorders.record_jobs, [django.db.OperationalError("x"), RuntimeError("y")]

    def record(*given):
        if failures:
            raise failures.pop(0)
        real(*given)

    monkeypatch.setattr(recorders, "record_jobs", record)
    async with asyncio.timeout(PATIENCE_S):
        background = asyncio.ensure_future(world.recorder.run())
        while not await stored_outcomes():
            world.suggest()
        world.now += RESOLVE_AFTER_S
        while "expired" not in (await stored_outcomes()).values():
            continue
        last = world.suggest()
        background.cancel()
        with pytest.raises(asyncio.CancelledError):
            await background
    assert last in await stored_outcomes()
