"""Clients that only search and call teach what runs of the same workflows teach."""

import random

import pytest

from graph.models import LearnedBinding
from graph.store import patterns, relations
from learning.dependencies import LearningDependencies
from learning.direct_use import DirectUse
from learning.knowledge import learn_from_episode, learn_from_run
from learning.store import episodes
from tests.factories import TeamFactory
from tests.fakes import FakeEmbedder
from tests.learning.ended_runs import ENDED, ended_run
from tests.learning.simulated_clients import (
    Client,
    describe_tools,
    draw_task,
    make_tools,
    workflow_rows,
)
from tests.learning.taught import contributor, observed

pytestmark = pytest.mark.django_db

SESSIONS = 100
SEED = 7


class World:
    """Two teams: clients of the first call tools, those of the second run workflows."""

    def __init__(self, sealer):
        self.sealer = sealer
        self.means = LearningDependencies(
            sealer=sealer, payload_sealer=sealer, embedder=FakeEmbedder()
        )
        self.tools = make_tools()
        self.names = {tool.pk: name for name, tool in self.tools.items()}
        self.profiles = describe_tools(self.tools)
        self.callers, self.runners = TeamFactory(), TeamFactory()
        self.use = DirectUse(sealer, clock=lambda: ENDED.timestamp())
        self.chance = random.Random(SEED)  # noqa: S311 - reproducible

    def connect(self, session):
        client = Client(
            self.use,
            self.tools,
            self.profiles,
            session=session,
            contributor=contributor(self.callers.pk),
            chance=self.chance,
        )
        client.at = ENDED.timestamp()
        return client

    def disconnect(self, session):
        """End a session, and learn from what it did."""
        self.use.close_session(session)
        waiting = self.use.take_closed()
        episodes.insert_episodes(waiting, sealer=self.sealer)
        for pk in waiting:
            learn_from_episode(pk, self.means)

    def run(self, task):
        run = ended_run(
            task.workflow,
            workflow_rows(task),
            sealer=self.sealer,
            intent=task.said,
            team=self.runners,
        )
        learn_from_run(run, self.means, at=ENDED)

    def relations(self, team):
        """Return what a team sees: confidence by source, target and kind."""
        topology = relations.load_topology(team.pk, now=ENDED)
        return {
            (self.names[one.source], self.names[one.target], one.kind.value): one.confidence
            for one in topology.iterate_relations()
        }

    def workflows(self, team):
        """Return the tools, in order, of the patterns that a team's models are fitted to."""
        history = patterns.load_history(team.pk, FakeEmbedder().model, sealer=self.sealer)
        return {tuple(self.names[tool] for tool in past.tools) for past in history}

    def references(self, team):
        """Return from which places of results the team's arguments were taken."""
        rows = LearnedBinding.objects.filter(team=team, kind="reference")
        return {
            (self.names[row.tool_id], row.parameter, self.names[row.giver_id], row.pointer)
            for row in rows
        }


@pytest.fixture
def world(db, sealer):
    return World(sealer)


@pytest.mark.full
def test_a_hundred_sessions_of_calls_teach_what_runs_of_their_workflows_teach(world):
    for number in range(SESSIONS):
        client = world.connect(number)
        for _ in range(world.chance.choice((1, 1, 2))):
            task = draw_task(number % 3, world.chance)
            world.run(task)
            if world.chance.random() < 0.15:  # an accident before the task
                client.say("what is new", "news:headlines")
                client.call("news:headlines", topic=f"topic {number}")
            client.carry_out(task)
            if world.chance.random() < 0.1:  # an accident that ends soon
                client.pause(200.0)
                client.carry_out(draw_task((number + 1) % 3, world.chance), stops_after=1)
            client.pause(300.0)
        world.disconnect(number)
    by_hand, by_run = world.relations(world.callers), world.relations(world.runners)
    assert by_hand.keys() == by_run.keys()
    assert {kind for _, _, kind in by_run} == {"precedes", "provides", "often_used_with"}
    weights, run_weights = observed(world.callers), observed(world.runners)
    assert all(weights[key][0] < run_weights[key][0] for key in run_weights)
    assert all(by_hand[key] <= by_run[key] + 0.01 for key in by_run)
    strongest = {key for key, confidence in by_run.items() if confidence > 0.9}
    assert strongest
    assert all(by_hand[key] > 0.8 for key in strongest)
    assert world.workflows(world.callers) >= world.workflows(world.runners)
    assert world.references(world.callers) >= world.references(world.runners)
    assert not any("news:headlines" in key for key in by_hand)
    assert not any(
        "news:headlines" in run for run in world.workflows(world.callers) if len(run) > 1
    )


def test_a_tool_called_after_searches_of_three_sessions_is_learned_for_all_their_words(world):
    searches = ("anything going on?", "what do they write about us", "catch me up")
    for number, words in enumerate(searches, start=1):
        assert world.workflows(world.callers) == set()
        client = world.connect(number)
        client.say(words, "news:headlines")
        client.call("news:headlines", topic=f"topic {number}")
        world.disconnect(number)
    history = patterns.load_history(world.callers.pk, FakeEmbedder().model, sealer=world.sealer)
    assert [past.tools for past in history] == [(world.tools["news:headlines"].pk,)] * 3


def test_unrelated_calls_of_many_sessions_never_become_related(world):
    drawn = ("news:headlines", "files:search", "crm:find_user")
    for session in range(30):
        client = world.connect(session)
        for place, tool in enumerate(world.chance.sample(drawn, 2)):
            client.say(f"look at {tool}", tool)
            client.call(tool, **{world_parameter(tool): f"value {session} {place}"})
        world.disconnect(session)
    assert world.relations(world.callers) == {}


def world_parameter(tool):
    return {"news:headlines": "topic", "files:search": "query", "crm:find_user": "name"}[tool]
