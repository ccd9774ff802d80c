"""Retrieval of past events by meaning, of one team alone."""

from datetime import UTC, datetime

import numpy as np
import pytest
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from gateway_project.foundation.sealing import Sealer
from learning import retrieve as module
from learning.memory.event import EventKind
from learning.models import EpisodicEvent, IntentVector
from learning.sessions import word_vectors
from learning.store import events
from tests.factories import TeamFactory
from tests.learning.some_events import AT, PREDICTION, a_full_event, an_event

pytestmark = pytest.mark.django_db

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
            sealed=word_vectors.seal_vector(vector, sealer),
            seen_at=datetime.fromtimestamp(AT, UTC),
        )

    return make


@pytest.fixture
def found(sealer):
    def find(team=None, sealer=sealer):
        events_of = module.find_similar_events(team, EAST, model="m", sealer=sealer)
        return [event.session for event in events_of]

    return find


def test_events_of_similar_texts_come_back_whole_and_newest_first(found, remember, sealer):
    full = a_full_event(intent_hash=5)
    store(
        full,
        an_event(session=2, at=AT + 1, intent_hash=6),
        an_event(session=3, intent_hash=7),
        an_event(session=4),
    )
    remember(5, EAST)
    remember(6, NEARLY_EAST)
    remember(7, NORTH)
    assert found() == [2, full.session]
    assert module.find_similar_events(None, EAST, model="m", sealer=sealer)[1] == full


def test_no_team_sees_events_or_texts_of_another(found, remember):
    mine, yours = TeamFactory().pk, TeamFactory().pk
    for session, team in enumerate((None, mine, yours)):
        store(an_event(session=session, team=team, intent_hash=5))
        remember(5, EAST, team)
    assert (found(None), found(mine), found(yours)) == ([0], [1], [2])


def test_vectors_of_other_models_and_lengths_are_not_compared(found, remember):
    store(an_event(session=2, intent_hash=5))
    remember(5, EAST, model="other")
    remember(6, np.ones(2, np.float32))
    assert found() == []


def test_vectors_that_no_key_opens_are_reported_and_left_out(found, remember):
    store(an_event(session=2, intent_hash=5))
    remember(5, EAST)
    with capture_logs() as logs:
        assert found(sealer=Sealer([Fernet.generate_key()])) == []
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


def test_a_session_with_an_unreadable_observation_is_left_out_with_a_warning():
    for session in (1, 2):
        store(an_event(session=session, data={"observation": {"n": session}}))
    EpisodicEvent.objects.filter(session=1).update(observation=b"\1 of another version")
    with capture_logs() as logs:
        found = events.load_observations(None, since=datetime.fromtimestamp(AT, UTC), limit=9)
        assert [one.session for one in found] == [2]
    assert [line["event"] for line in logs] == ["events.observation_unreadable"]


def test_a_stored_vector_is_sealed_and_nearly_exact(sealer):
    vector = np.random.default_rng(1).normal(size=384).astype(np.float32)
    vector /= np.linalg.norm(vector)
    sealed = word_vectors.seal_vector(vector, sealer)
    assert vector.astype("<f2").tobytes()[:16] not in sealed
    assert word_vectors.unseal_vector(sealed, sealer) @ vector == pytest.approx(1, abs=1e-3)
