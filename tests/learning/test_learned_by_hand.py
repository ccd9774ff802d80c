"""What calls made one by one teach, beside runs of the same workflow."""

import threading
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet
from django.db import connections

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from graph.models import LearnedBinding, PatternRun, RelationEvidence, WorkflowPattern
from graph.record import RelationClaim
from graph.relations import RelationKind
from graph.store import patterns, relations
from learning import episodes as grouping
from learning.dependencies import LearningDependencies
from learning.episodes import Episode, OwnedEpisode, SessionCall, ValueSource
from learning.knowledge import learn_from_episode, learn_from_run
from learning.learner import Learner
from learning.models import UnlearnedEpisode
from learning.store import episodes
from tests.factories import TeamFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import taken
from tests.learning.ended_runs import ENDED, answered, called, ended_run
from tests.learning.taught import contributor, observed, own
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db

INTENT = 'Find the log of "srv/app" and mail it'
SURE = grouping.MAX_CERTAINTY


@pytest.fixture
def means(sealer):
    return LearningDependencies(sealer=sealer, payload_sealer=sealer, embedder=FakeEmbedder())


@pytest.fixture
def by_hand(tools):
    """Return an episode of two calls of which the second takes from the first."""

    def make(certainty=SURE, intent=INTENT):
        calls = [
            SessionCall(
                number=number,
                tool=f"s:{tool.name}",
                pk=tool.pk,
                at=ENDED.timestamp() + 5 * number,
                duration_s=1.0,
                is_read_only=True,
                arguments=arguments,
                sources=sources,
            )
            for number, (tool, arguments, sources) in enumerate(
                [
                    (tools[0], {"q": "log"}, ()),
                    (tools[1], {"text": "hello"}, (ValueSource("/text", 0, pointer="/text"),)),
                ]
            )
        ]
        return Episode(calls=tuple(calls), intent=intent, certainty=certainty)

    return make


@pytest.fixture
def learn(means, sealer):
    def work(episode, team=None):
        pk = uuid4()
        owned = OwnedEpisode(episode, contributor(None if team is None else team.pk))
        episodes.insert_episodes({pk: owned}, sealer=sealer)
        return learn_from_episode(pk, means)

    return work


def shown(team=None):
    """Return the relations that callers of a team see, with their confidence."""
    return {
        relation.key: round(relation.confidence, 3)
        for relation in relations.load_topology(team or own(), now=ENDED).iterate_relations()
    }


def history(sealer, team=None):
    return patterns.load_history(team or own(), FakeEmbedder().model, sealer=sealer)


def test_it_leaves_the_same_pattern_and_relations_as_a_run_at_less_weight(
    learn, by_hand, means, sealer, tools
):
    learn(by_hand())
    by_hand_observed = observed()
    assert set(by_hand_observed) == {
        ("a", "b", kind) for kind in ("precedes", "provides", "often_used_with")
    }
    assert {held for held, _, _ in by_hand_observed.values()} == {SURE}
    first = called("x", tools[0], q="log")
    second = called("y", tools[1], text=taken("x", "/text"))
    run = ended_run(
        [first, second], [answered(first), answered(second)], sealer=sealer, intent=INTENT
    )
    learn_from_run(run, means, at=ENDED)
    pattern = WorkflowPattern.objects.get()
    assert (pattern.successes, pattern.success_weight) == (2, SURE + 1)
    assert {held for held, _, _ in observed().values()} == {SURE + 1}


def test_once_is_an_accident_and_shows_nothing(learn, by_hand, sealer):
    learn(by_hand())
    assert shown() == {}
    assert history(sealer) == []
    assert not LearnedBinding.objects.exists()


def test_twice_shows_it(learn, by_hand, sealer, tools):
    for _ in range(2):
        learn(by_hand(certainty=0.7))
    pair = tools[0].pk, tools[1].pk
    assert set(shown()) == {(*pair, kind) for kind in ("precedes", "provides", "often_used_with")}
    (past,) = history(sealer)
    assert (past.tools, past.successes) == (pair, 1)
    assert LearnedBinding.objects.filter(kind="reference", giver=tools[0]).exists()


def test_a_workflow_seen_again_supports_other_words_for_it(learn, by_hand, sealer):
    for intent in ("mail the log", "send me what was logged"):
        learn(by_hand(intent=intent))
    assert [past.successes for past in history(sealer)] == [1, 1]


def test_an_accident_leaves_what_schemas_say_as_it_is(learn, by_hand, tools):
    claim = RelationClaim(
        source=tools[0].pk, target=tools[1].pk, kind=RelationKind.PROVIDES, confidence=0.4
    )
    relations.curate_relation(claim, by="ann", at=ENDED)
    RelationEvidence.objects.update(source="imported", origin="file")
    before = shown()
    learn(by_hand())
    assert shown() == before


def test_it_counts_once_and_is_gone(learn, by_hand, means, sealer):
    assert learn(by_hand()) is not None
    assert not UnlearnedEpisode.objects.exists()
    assert learn_from_episode(uuid4(), means) is None
    assert PatternRun.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_processes_that_learn_from_one_episode_at_once_count_it_once(by_hand, means, sealer):
    pk = uuid4()
    episodes.insert_episodes({pk: OwnedEpisode(by_hand(), contributor())}, sealer=sealer)
    together, found = threading.Barrier(3), []

    def work():
        together.wait(PATIENCE_S)
        found.append(learn_from_episode(pk, means))
        connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sum(one is not None for one in found) == 1
    assert observed()["a", "b", "precedes"][0] == SURE
    assert WorkflowPattern.objects.get().success_weight == SURE


def test_what_breaks_off_is_learned_once_in_the_end(learn, by_hand, means, monkeypatch):
    def killed(*_args, **_kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("learning.knowledge.relations.observe_relations", killed)
        with pytest.raises(KeyboardInterrupt):
            learn(by_hand())
    assert observed() == {}
    assert learn_from_episode(UnlearnedEpisode.objects.get().pk, means) is not None
    assert observed()["a", "b", "precedes"][0] == SURE
    assert WorkflowPattern.objects.get().successes == 1


def test_an_episode_of_a_team_teaches_that_team(learn, by_hand):
    team = TeamFactory()
    for _ in range(2):
        learn(by_hand(), team=team)
    assert shown() == {}
    assert len(shown(team.pk)) == 3


def test_episodes_of_a_deleted_team_are_dropped(by_hand, sealer):
    team = TeamFactory()
    pk = team.pk
    team.delete()
    episodes.insert_episodes({uuid4(): OwnedEpisode(by_hand(), contributor(pk))}, sealer=sealer)
    assert not UnlearnedEpisode.objects.exists()


def test_what_waits_holds_nothing_in_clear(by_hand, sealer, means):
    episodes.insert_episodes({uuid4(): OwnedEpisode(by_hand(), contributor())}, sealer=sealer)
    content = bytes(UnlearnedEpisode.objects.get().content)
    assert not [word for word in (b"log", b"hello", b"mail", b"s:a") if word in content]
    other = Sealer([Fernet.generate_key()])
    with pytest.raises(UnsealingFailed):
        learn_from_episode(
            UnlearnedEpisode.objects.get().pk,
            LearningDependencies(sealer=sealer, payload_sealer=other),
        )


@pytest.mark.django_db(transaction=True)
async def test_an_episode_that_no_key_opens_is_dropped_after_some_attempts(by_hand, sealer):
    pk = uuid4()
    lost = Sealer([Fernet.generate_key()])
    ann = await run_in_database_thread(contributor)
    await run_in_database_thread(
        episodes.insert_episodes, {pk: OwnedEpisode(by_hand(), ann)}, sealer=lost
    )
    means = LearningDependencies(sealer=sealer, payload_sealer=sealer)
    learner = Learner(lambda: means)
    for left in (1, 1, 0):
        await learner.enqueue_ended_run(pk)
        await learner._learn_from_run(pk)
        assert await run_in_database_thread(UnlearnedEpisode.objects.count) == left
