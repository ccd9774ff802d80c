"""Retrieval of past events: by context, then by meaning, of one team alone."""

from datetime import UTC, datetime

import numpy as np
import pytest
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from gateway_project.foundation.sealing import Sealer
from learning import retrieve as module
from learning.memory import intent_vectors
from learning.memory.event import EventKind
from learning.models import IntentVector
from learning.retrieve import EventRetriever
from learning.store import events
from tests.factories import TeamFactory
from tests.learning.some_events import AT, PREDICTION, a_full_event, an_event

pytestmark = pytest.mark.django_db

CONTEXT, OTHER = 11, 12
EAST, NORTH = np.eye(4, dtype=np.float32)[:2]
NEARLY_EAST = np.array([0.8, 0.6, 0, 0], np.float32)


def store(*stored):
    start = events.load_position(PREDICTION)
    events.store_records(stored, spool=PREDICTION, start=start, end=start + 1)


@pytest.fixture
def remember(sealer):
    def make(intent_hash, vector, team=None, model="m"):
        IntentVector.objects.create(
            team_id=team,
            intent_hash=intent_hash,
            model=model,
            sealed=intent_vectors.seal_vector(vector, sealer),
            seen_at=datetime.fromtimestamp(AT, UTC),
        )

    return make


@pytest.fixture
def retriever(sealer):
    return EventRetriever(model="m", sealer=sealer)


def found(retriever, team=None, **asked):
    return [event.session for event in retriever.retrieve(team, context_hash=CONTEXT, **asked)]


def test_events_of_the_context_come_back_whole_and_newest_first(retriever):
    full = a_full_event(context_hash=CONTEXT)
    store(full, an_event(session=2, at=AT + 1, context_hash=CONTEXT), an_event(session=3))
    assert retriever.retrieve(None, context_hash=CONTEXT)[1] == full
    assert found(retriever) == [2, 7]
    assert found(retriever, limit=1) == [2]


def test_no_team_sees_events_or_texts_of_another(retriever, remember):
    mine, yours = TeamFactory().pk, TeamFactory().pk
    for session, team in enumerate((None, mine, yours)):
        store(an_event(session=session, team=team, context_hash=CONTEXT))
        store(an_event(session=10 + session, team=team, context_hash=OTHER, intent_hash=5))
        remember(5, EAST, team)
    assert found(retriever, None, vector=EAST) == [0, 10]
    assert found(retriever, mine, vector=EAST) == [1, 11]
    assert found(retriever, yours, vector=EAST) == [2, 12]


def test_similar_texts_are_added_when_the_context_has_few_events(retriever, remember):
    store(
        an_event(session=1, context_hash=CONTEXT, intent_hash=5),
        an_event(session=2, context_hash=OTHER, intent_hash=5),
        an_event(session=3, context_hash=OTHER, intent_hash=6),
        an_event(session=4, at=AT - 1, intent_hash=5),
    )
    remember(5, NEARLY_EAST)
    remember(6, NORTH)
    assert found(retriever, vector=EAST) == [1, 2, 4]
    assert found(retriever, vector=EAST, limit=1) == [1]
    without_context = retriever.retrieve(None, context_hash=None, vector=EAST)
    assert {event.session for event in without_context} == {1, 2, 4}


def test_similar_texts_are_not_searched_for_when_there_is_enough(retriever, monkeypatch):
    store(*(an_event(session=number, context_hash=CONTEXT) for number in range(10)))
    monkeypatch.setattr(retriever, "_find_similar_texts", None)
    assert len(found(retriever, vector=EAST)) == 10


def test_vectors_of_other_models_and_lengths_are_not_compared(retriever, remember):
    store(an_event(session=2, context_hash=OTHER, intent_hash=5))
    remember(5, EAST, model="other")
    remember(6, np.ones(2, np.float32))
    assert found(retriever, vector=EAST) == []


def test_vectors_are_read_again_after_a_minute_and_for_a_few_teams(sealer, remember, monkeypatch):
    seconds = [0.0]
    retriever = EventRetriever(model="m", sealer=sealer, clock=lambda: seconds[0])
    store(an_event(session=2, context_hash=OTHER, intent_hash=5))
    assert found(retriever, vector=EAST) == []
    remember(5, EAST)
    assert found(retriever, vector=EAST) == []
    seconds[0] = module.MAX_AGE_S
    assert found(retriever, vector=EAST) == [2]
    monkeypatch.setattr(module, "MAX_TEAMS", 1)
    assert found(retriever, TeamFactory().pk, vector=EAST) == []
    assert len(retriever._vectors) == 1


def test_vectors_that_no_key_opens_are_reported_and_left_out(remember):
    store(an_event(session=2, context_hash=OTHER, intent_hash=5))
    remember(5, EAST)
    stranger = EventRetriever(model="m", sealer=Sealer([Fernet.generate_key()]))
    with capture_logs() as logs:
        assert found(stranger, vector=EAST) == []
    assert [line["event"] for line in logs] == ["events.vector_unreadable"]


def test_observations_come_by_session_in_the_order_of_their_ends():
    team = TeamFactory().pk

    def observe(session, at, number, **values):
        data = {"observation": {"n": number}}
        store(an_event(**{"session": session, "at": AT + at, "data": data, "team": team} | values))

    observe(1, 5, "a2")
    observe(2, 3, "b1")
    observe(1, 1, "a1")
    observe(3, 9, "of another team", team=None)
    observe(2, 4, "b2", kind=EventKind.OBSERVATION)
    observe(4, -100, "too old")
    store(an_event(session=2, at=AT + 8, team=team))

    def load(limit):
        since = datetime.fromtimestamp(AT, UTC)
        return [
            (one.session, [observation["n"] for observation in one.observations])
            for one in events.load_observations(team, since=since, limit=limit)
        ]

    assert load(10) == [(2, ["b1", "b2"]), (1, ["a1", "a2"])]
    assert load(2) == [(2, ["b2"]), (1, ["a2"])]


def test_a_stored_vector_is_sealed_and_nearly_exact(sealer):
    vector = np.random.default_rng(1).normal(size=384).astype(np.float32)
    vector /= np.linalg.norm(vector)
    sealed = intent_vectors.seal_vector(vector, sealer)
    assert vector.astype("<f2").tobytes()[:16] not in sealed
    assert intent_vectors.unseal_vector(sealed, sealer) @ vector == pytest.approx(1, abs=1e-3)
