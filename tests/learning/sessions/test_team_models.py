"""What past sessions of each team teach, and that no team learns from another."""

import asyncio
from dataclasses import replace

import django.db
import pytest

from execution.speculation.rules import AdmissibilityRules, SpeculationGrants
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.module_process import ModuleFailed
from graph.suggestion.next_call.chance import load_priors
from graph.suggestion.next_call.observation import CallObservation
from learning.memory.event import EventKind
from learning.sessions import registry, team_models
from learning.sessions.analyse import load_profiles
from learning.sessions.fit import fit_in_subprocess, fit_team
from learning.sessions.team_models import NextCallModels, SessionPart
from learning.store.events import SessionObservations
from tests.gateway.catalogues import catalogue
from tests.learning.sessions.live import ANN, BOB, FIND, READ, WRITE, Clock, Live
from tests.patience import PATIENCE_S

RULES = AdmissibilityRules(catalogue=catalogue(FIND, READ, WRITE), grants=SpeculationGrants())

pytestmark = pytest.mark.django_db  # they load in a database thread, which looks at its connection


async def taught_sessions(count=3):
    """Return the stored form of some sessions, each a search for records and their reading."""
    live = Live()
    found = []
    for number in range(count):
        caller = replace(ANN, session=f"s{number}")
        await live.find_and_read(f"rec-{number}", f"rec-{number + 50}", caller=caller)
        session = live.session(caller).hash
        observed = [
            event.data["observation"]
            for event in live.events
            if event.kind is EventKind.OBSERVATION and event.session == session
        ]
        found.append(SessionObservations(session=session, observations=observed))
    return found


def chance_of_reading(live, caller):
    """Return the chance with which the reading of a found record is predicted."""
    analysis = live.session(caller).analysis
    return [one.call.chance for one, _ in analysis.pending._pending.values()]


async def predict(live, caller):
    live.call(FIND, {"records": [{"record_id": "rec-7777"}]}, caller=caller, owner="zoe")
    await live.pause()
    return chance_of_reading(live, caller)


async def test_stored_sessions_are_counted_at_the_first_use_of_their_team():
    clock = Clock()
    asked = []
    sessions = await taught_sessions()

    def load(team, since, limit):
        asked.append((team, since.timestamp(), limit))
        return sessions

    models = NextCallModels(load=load, wall=clock)
    assert models.find_model(1) is None
    await models.refresh(1)
    model = models.find_model(1)
    assert model.counts["sessions",] == 3
    assert asked == [
        (1, clock.now - team_models.HISTORY.total_seconds(), team_models.HISTORY_CALLS)
    ]


async def test_later_refreshes_count_only_sessions_that_have_ended_and_each_once():
    clock = Clock()
    sessions = await taught_sessions(4)
    stored = sessions[:1]
    models = NextCallModels(load=lambda *_: stored, wall=clock)
    models.find_model(1)
    await models.refresh(1)
    recent = clock.now - registry.FORGET_AFTER_S + 1
    old = recent - 2
    stored = [
        sessions[0],
        replace(sessions[1], ended_at=old),
        replace(sessions[2], ended_at=recent),
    ]
    first = models.find_model(1)
    await models.refresh(1)
    assert models.find_model(1).counts["sessions",] == 2
    assert first.counts["sessions",] == 1
    await models.refresh(1)
    assert models.find_model(1).counts["sessions",] == 2
    clock.now += 10
    await models.refresh(1)
    assert models.find_model(1).counts["sessions",] == 3


async def test_a_session_of_this_process_is_counted_once_it_ends():
    live = Live()
    await live.find_and_read("rec-1", "rec-2")
    live.clock.now += registry.FORGET_AFTER_S + 1
    live.analyst.forget_sessions()
    await live.models.refresh(ANN.team)
    assert live.models.find_model(ANN.team).counts["calls", READ.pk] == 2
    session = next(iter(live.models._teams[ANN.team].counted))
    live.stored = [SessionObservations(session=session, observations=[{"unread": 1}])]
    await live.models.refresh(ANN.team)
    assert live.models.find_model(ANN.team).counts["sessions",] == 1


async def test_a_session_is_counted_as_soon_as_its_connection_ends():
    live = Live()
    await live.find_and_read("rec-1")
    live.call(READ, {"title": "another"}, record_id="rec-2")  # waits to be analysed
    live.registry.record_session_end(ANN)
    live.registry.record_session_end(BOB)
    await live.pause()
    live.analyst.forget_sessions()
    await live.models.refresh(ANN.owner)
    assert live.models.find_model(ANN.owner).counts["calls", READ.pk] == 2
    assert live.registry.find_session(ANN) is None


async def test_a_long_session_teaches_while_it_lasts_and_each_call_once():
    live = Live()
    seen = []
    for number in range(15):
        await live.find_and_read(f"rec-{number}")
        await live.models.refresh(ANN.owner)
        seen.append(live.models.find_model(ANN.owner).counts["calls", READ.pk])
    assert 0 < seen[8] < seen[-1] < 15
    live.registry.record_session_end(ANN)
    live.analyst.forget_sessions()
    await live.models.refresh(ANN.owner)
    counts = live.models.find_model(ANN.owner).counts
    assert counts["calls", READ.pk] == counts["calls", FIND.pk] == 15
    assert counts["sessions",] == 1
    assert counts["then", FIND.pk, READ.pk] == 15


async def test_a_new_connection_of_the_same_caller_is_another_session():
    live = Live()
    await live.find_and_read("rec-1")
    first = live.session(ANN)
    live.call(READ, record_id="rec-1")
    live.registry.record_session_end(ANN)
    live.call(READ, record_id="rec-1")
    assert live.session(ANN) is not first


async def fit_here(stored, tools):
    return fit_team(stored, tools)


async def test_a_process_of_its_own_fits_what_this_one_would():
    stored = [one.observations for one in await taught_sessions(6)]
    tools = load_profiles(RULES, ANN)
    fitted = await fit_in_subprocess(stored, tools)
    assert fitted == fit_team(stored, tools) != load_priors()["learned"]


async def test_the_chances_of_a_team_are_fitted_once_its_sessions_have_grown_enough():
    clock = Clock()
    sessions = await taught_sessions(14)
    stored = sessions[:4]
    models = NextCallModels(load=lambda *_: stored, fit=fit_here, wall=clock)

    async def fit():
        clock.now += team_models.FIT_INTERVAL_S
        await models.refresh(1)
        await models.fit_due(1)
        return models.find_model(1).chances

    models.find_model(1)
    assert await fit() is None, "the tools are not known"
    models.set_tools(1, load_profiles(RULES, ANN))
    assert await fit() is None, "four sessions are too few"
    stored = sessions[:10]
    fitted = await fit()
    assert fitted is not None
    assert fitted != load_priors()["learned"]
    stored = sessions[:11]
    assert await fit() is fitted
    stored = sessions
    assert await fit() not in (fitted, None)
    assert models.find_model(1).counts["sessions",] == 14


async def test_a_team_that_is_not_used_and_a_database_that_is_away_fit_nothing():
    sessions = await taught_sessions(6)
    failing = False

    def load(*_):
        if failing:
            raise django.db.OperationalError("gone")
        return sessions

    models = NextCallModels(load=load)
    await models.fit_due(9)
    assert not models._teams
    models.set_tools(1, load_profiles(RULES, ANN))
    await models.refresh(1)
    failing = True
    await models.fit_due(1)
    assert models.find_model(1).chances is None


async def test_a_fit_that_fails_leaves_the_chances_as_they_are():
    sessions = await taught_sessions(10)

    async def fail(*_):
        raise ModuleFailed("no memory")

    models = NextCallModels(load=lambda *_: sessions, fit=fail)
    models.set_tools(1, load_profiles(RULES, ANN))
    await models.refresh(1)
    await models.fit_due(1)
    assert models.find_model(1).chances is None


async def observe_bob(*, other_calls):
    """Return what a process shows of bob's team after calls of another one."""
    live = Live()
    for number in range(other_calls // 3):
        caller = replace(ANN, session=f"s{number}")
        await live.find_and_read(f"rec-{number}", f"rec-{number + 5_000}", caller=caller)
        live.clock.now += 60.0
    live.clock.now += registry.FORGET_AFTER_S + 1
    live.analyst.forget_sessions()
    for team in (ANN.team, BOB.team):
        live.models.find_model(team)
        await live.models.refresh(team)
    chances = await predict(live, BOB)
    resolved = [one for one in live.events if one.team == BOB.team and one.outcome is not None]
    return live, (chances, live.list_predicted(BOB), len(resolved), live.session(BOB).call_count)


async def test_a_thousand_calls_of_one_team_change_nothing_for_another():
    _, alone = await observe_bob(other_calls=0)
    live, beside = await observe_bob(other_calls=1_000)
    assert alone == beside
    assert not live.models.find_model(BOB.team).counts
    assert live.models.find_model(ANN.team).counts["calls", READ.pk] > 600
    assert await predict(live, replace(ANN, session="later")) > alone[0]


async def test_an_observation_of_another_version_is_left_out():
    models = NextCallModels(
        load=lambda *_: [SessionObservations(session=1, observations=[{"of": "later"}])]
    )
    models.find_model(None)
    await models.refresh(None)
    assert not models.find_model(None).counts


async def test_while_the_database_is_away_own_sessions_wait():
    sessions = await taught_sessions(1)
    failing = True

    def load(*_):
        if failing:
            raise django.db.OperationalError("gone")
        return []

    models = NextCallModels(load=load)
    calls = [CallObservation.from_json(one) for one in sessions[0].observations]
    models.add_session(Contributor(1, 1), SessionPart(5, calls, range(len(calls))))
    await models.refresh(1)
    assert models.find_model(1) is None
    failing = False
    await models.refresh(1)
    assert models.find_model(1).counts["sessions",] == 1


async def test_the_number_of_teams_and_of_counted_sessions_is_limited(monkeypatch):
    monkeypatch.setattr(team_models, "MAX_TEAMS", 2)
    monkeypatch.setattr(team_models, "MAX_COUNTED", 1)
    sessions = await taught_sessions(2)
    models = NextCallModels(load=lambda *_: sessions)
    for team in (1, 2, 1, 3):
        models.find_model(team)
    assert list(models._teams) == [1, 3]
    await models.refresh(2)
    await models.refresh(1)
    assert len(models._teams[1].counted) == 1


async def test_models_are_loaded_in_the_background(monkeypatch):
    sessions = await taught_sessions(1)
    models = NextCallModels(load=lambda *_: sessions)
    running = asyncio.ensure_future(models.run())
    async with asyncio.timeout(PATIENCE_S):
        while models.find_model(1) is None:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
