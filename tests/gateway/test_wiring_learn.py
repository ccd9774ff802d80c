from types import SimpleNamespace

from gateway_project.wiring import memory
from gateway_project.wiring.follow_graph import GraphKeeper
from learning.dependencies import LearnedFromRun
from tests.fakes import FakeEmbedder
from tools.embed.cache import CachedEmbedder

INDEX = SimpleNamespace(current=object())


def make_learner(sealer, **values):
    return memory.make_learner(sealer=sealer, payloads=sealer, index=INDEX, **values)


def test_learning_uses_the_model_only_once_it_is_loaded(sealer):
    embedder = CachedEmbedder(FakeEmbedder())
    learner = make_learner(sealer, embedder=embedder)
    before = learner._dependencies()
    assert (before.embedder, before.index) == (None, None)
    embedder.embed(["warm"], kind="query")
    after = learner._dependencies()
    assert (after.embedder, after.index) == (embedder, INDEX.current)


def test_a_process_without_a_model_still_learns(sealer):
    assert make_learner(sealer)._dependencies().embedder is None


async def test_learned_calls_are_counted_at_once_and_new_shapes_trigger_a_refresh(sealer):
    noted = []
    keeper = GraphKeeper()
    keeper.refresher.note_change = lambda: noted.append(1)
    learner = make_learner(sealer, keeper=keeper)
    learner._on_learned(LearnedFromRun(usage={(7, None): 3}))
    assert keeper.usage.usage_of_team(None)[7] == 3
    assert noted == []
    learner._on_learned(LearnedFromRun(shape_count=1))
    assert noted == [1]
