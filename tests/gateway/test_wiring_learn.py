from types import SimpleNamespace

from gateway_project.wiring import learn
from gateway_project.wiring.follow_graph import GraphKeeper
from learning.learned import Learned
from tests.fakes import FakeEmbedder
from tools.embed.cache import CachedEmbedder

INDEX = SimpleNamespace(current=object())


def learner(sealer, **values):
    return learn.learner(sealer=sealer, payloads=sealer, index=INDEX, **values)


def test_no_model_is_loaded_for_learning_and_one_that_is_loaded_serves(sealer):
    embedder = CachedEmbedder(FakeEmbedder())
    made = learner(sealer, embedder=embedder)
    before = made._means()
    assert (before.embedder, before.index) == (None, None)
    embedder.embed(["warm"], kind="query")
    after = made._means()
    assert (after.embedder, after.index) == (embedder, INDEX.current)


def test_a_process_without_a_model_learns_all_the_same(sealer):
    assert learner(sealer)._means().embedder is None


async def test_calls_that_were_counted_are_known_at_once_and_new_shapes_are_taken_up(sealer):
    noted = []
    keeper = GraphKeeper()
    keeper.refresher.note = lambda: noted.append(1)
    made = learner(sealer, keeper=keeper)
    made._on_learned(Learned(usage={(7, None): 3}))
    assert keeper.usage.of(None)[7] == 3
    assert noted == []
    made._on_learned(Learned(shapes=1))
    assert noted == [1]
