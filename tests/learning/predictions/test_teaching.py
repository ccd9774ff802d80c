"""A suggestion that was run ahead teaches once its caller accepted it, and never twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from execution.models import Speculation
from execution.speculation.calls import SpeculativeRun, SpeculativeTask
from execution.speculation.outcome import RESOLVE_AFTER_S
from execution.store import prediction_contents
from gateway_project.foundation.database import run_in_database_thread
from graph.models import PatternRun
from learning import suggested_episodes
from learning.dependencies import LearningDependencies
from learning.episodes import MAX_CERTAINTY, OwnedEpisode
from learning.knowledge import learn_from_episode
from learning.models import ToolExperience, UnlearnedEpisode
from learning.predictions import open_intents
from learning.predictions.open_intents import AheadRecord
from learning.store import episodes
from tests.execution.workflows import known_task
from tests.factories import ServerFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.learning.predictions.test_recorder import CHANGED, STEPS, World, run_ended
from tests.learning.taught import contributor, observed

pytestmark = pytest.mark.django_db(transaction=True)

INTENT = "write to Ann"
RUN = SpeculativeRun(
    raw_results={},
    lists=frozenset(),
    tasks=(
        SpeculativeTask(
            task="a", tool="s:a", arguments={"name": "Ann"}, started_s=0.0, duration_ms=100.0
        ),
        SpeculativeTask(
            task="b", tool="s:b", arguments={"to": "ann@x"}, started_s=0.2, duration_ms=50.0
        ),
    ),
    took_s=0.3,
)


@pytest.fixture
def world(sealer):
    return World(episode_sealer=sealer)


def run_ahead(world):
    """Suggest a workflow that was run ahead."""
    episode = suggested_episodes.build_run_episode(INTENT, STEPS, RUN, at=world.now)
    ran = AheadRecord(run=RUN, episode=episode)
    return world.suggest(ran=ran, is_admitted=True)


def teaching_rows():
    """Return what teaches from when on, and how much; empty weight: not yet."""
    return {row.pk: (row.weight, row.stored_at) for row in UnlearnedEpisode.objects.all()}


async def stored():
    return await run_in_database_thread(teaching_rows)


def after(world, seconds=0.0):
    return datetime.fromtimestamp(world.now, UTC) + timedelta(seconds=seconds)


async def test_it_waits_for_the_outcome_and_then_teaches_at_its_weight(world):
    speculation = run_ahead(world)
    await world.recorder.flush()
    assert (await stored())[speculation][0] is None
    assert await run_in_database_thread(
        lambda: episodes.load_waiting(settled_s=0.0, limit=9) == []
    )
    world.call(1, name="Ann")  # asks for one of its results
    assert await world.outcome(speculation) == ("hit", 0.5)
    assert await stored() == {speculation: (0.5, after(world))}


def load_content(speculation, sealer):
    return run_in_database_thread(prediction_contents.load_content, speculation, sealer=sealer)


async def test_what_a_reviewer_needs_is_stored_sealed(world, sealer, monkeypatch):
    said = {"content": [{"type": "text", "text": "ann@x"}]}
    run = replace(RUN, raw_results={"a": (said,), "b": ({"content": ["x" * 99]},)})
    monkeypatch.setattr(open_intents, "MAX_RESULT_CHARACTERS", 80)
    speculation = world.suggest(ran=AheadRecord(run=run), intent=INTENT)
    await world.recorder.flush()
    content = await load_content(speculation, sealer)
    assert content["intent"] == INTENT
    first, second = content["calls"]
    assert (first["tool"], first["arguments"]) == (1, {"name": "Ann"})
    assert first["results"] == [{"size": 48, "raw": said}]
    assert second["arguments"] == {"to": "ann@x"}, "as sent, not as suggested"
    assert second["results"] == [{"size": 116, "raw": None}], "too large to be kept"
    stored = await run_in_database_thread(
        lambda: bytes(Speculation.objects.get(pk=speculation).content)
    )
    assert b"ann@x" not in stored
    assert b"Ann" not in stored


async def test_of_a_suggestion_that_was_not_run_ahead_the_calls_are_kept(world, sealer):
    speculation = world.suggest(intent=INTENT)
    await world.recorder.flush()
    content = await load_content(speculation, sealer)
    assert [call["arguments"] for call in content["calls"]] == [
        dict(one.arguments) for one in STEPS
    ]
    assert [call["results"] for call in content["calls"]] == [[], []]


async def test_without_the_memory_nothing_of_a_suggestion_is_kept(sealer):
    forgetful = World()
    speculation = forgetful.suggest(intent=INTENT)
    await forgetful.recorder.flush()
    assert await load_content(speculation, sealer) is None


async def test_accepted_it_teaches_fully_once_no_run_of_it_can_follow(world):
    speculation = run_ahead(world)
    await world.judge(speculation, "accept")
    assert await stored() == {speculation: (1.0, after(world, RESOLVE_AFTER_S))}


@pytest.mark.parametrize("verdict", ["reject", "modify"])
async def test_what_its_caller_turned_down_teaches_nothing(world, verdict):
    await world.judge(run_ahead(world), verdict)
    assert await stored() == {}


async def test_what_its_caller_contradicted_teaches_nothing(world, sealer):
    speculation = run_ahead(world)
    world.run(await run_ended(sealer), tasks=CHANGED, intent=INTENT)
    assert (await world.outcome(speculation))[0] == "modified"
    assert await stored() == {}


@pytest.mark.parametrize("accepted_first", [True, False])
async def test_a_run_of_it_teaches_in_its_place(world, sealer, accepted_first):
    speculation = run_ahead(world)
    if accepted_first:
        await world.judge(speculation, "accept")
    world.run(await run_ended(sealer), speculation=speculation)
    await world.recorder.flush()
    assert await stored() == {}


async def test_the_same_calls_made_one_by_one_teach_in_its_place(world):
    speculation = run_ahead(world)
    world.call(1, name="Ann")
    await world.recorder.flush()
    assert speculation in await stored()
    world.call(2, to="ann@x")
    assert await world.outcome(speculation) == ("hit", 0.5)
    assert await stored() == {}


async def test_where_learning_is_off_nothing_is_kept():
    world = World()
    speculation = run_ahead(world)
    await world.outcome(speculation)
    assert await stored() == {}


async def test_the_workflow_that_its_caller_states_teaches_instead(world, sealer):
    speculation = run_ahead(world)
    await world.judge(speculation, "modify", stated=STEPS)
    assert await stored() == {speculation: (1.0, after(world, RESOLVE_AFTER_S))}
    kept = await run_in_database_thread(lambda: episodes.load_episode(speculation, sealer=sealer))
    assert (kept.episode.intent, kept.episode.was_made) == (INTENT, False)
    assert [call.tool for call in kept.episode.calls] == ["s:1", "s:2"]
    await world.judge(speculation, "modify", stated=CHANGED)
    assert len(await stored()) == 1, "feedback counts once"


def learn(sealer, episode):
    pk = uuid4()
    episodes.insert_episodes(
        {pk: OwnedEpisode(episode, contributor())}, sealer=sealer, weight=None
    )
    means = LearningDependencies(sealer=sealer, payload_sealer=sealer, embedder=FakeEmbedder())
    assert learn_from_episode(pk, means) is None, "it waits"
    episodes.release_episode(pk, weight=0.5, at=datetime.now(UTC))
    return learn_from_episode(pk, means)


@pytest.mark.parametrize("was_made", [True, False])
def test_it_leaves_a_pattern_with_its_references_and_only_what_was_made_durations(
    sealer, was_made
):
    server = ServerFactory(name="s")
    first, second = (ToolFactory(server=server, name=name) for name in "ab")
    steps = [
        _with_tool(STEPS[0], first),
        _with_tool(STEPS[1], second),
    ]
    if was_made:
        episode = suggested_episodes.build_run_episode(INTENT, steps, RUN, at=1_700_000_000.0)
    else:
        episode = suggested_episodes.build_stated_episode(INTENT, steps, at=1_700_000_000.0)
    assert episode.certainty == MAX_CERTAINTY
    learned = learn(sealer, episode)
    assert learned.has_pattern
    assert PatternRun.objects.count() == 1
    runs = ToolExperience.objects.values_list("runs", flat=True)
    assert list(runs) == [pytest.approx(0.5 * MAX_CERTAINTY)] * 2
    assert {held for held, _, _ in observed().values()} == {0.5 * MAX_CERTAINTY}
    calls = ToolExperience.objects.values_list("calls", flat=True)
    assert set(calls) == ({1} if was_made else {0})


def _with_tool(task, tool):
    return known_task(task.id, tool.pk, task.arguments, tool=f"s:{tool.name}")
