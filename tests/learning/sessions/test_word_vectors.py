"""Which vectors of searches and intents are recorded."""

import numpy as np
import pytest

from gateway_project.foundation.sealing import Sealer
from learning.episodes import Statement
from learning.memory.capture import Capture
from learning.memory.encoding import iterate_records
from learning.memory.spool import Spool
from learning.sessions import word_vectors
from learning.sessions.word_vectors import WordVectors
from tests.fakes import FakeEmbedder
from tests.learning.sessions.live import ANN, Live
from tools.embed.cache import CachedEmbedder

KEY = b"bW9ja2luZ2JpcmRzIHNpbmcgYWxsIG5pZ2h0IGxvbmc="


@pytest.fixture
def capture(tmp_path):
    return Capture(Spool(tmp_path / "spool", max_bytes=10_000_000))


@pytest.fixture
def embedder():
    return CachedEmbedder(FakeEmbedder())


@pytest.fixture
def session():
    live = Live()
    return live.registry._touch(ANN)


def words(text, number=5):
    return Statement(text=text, words_hash=number, found={}, is_intent=True, at=7.0)


def recorded(capture):
    (file,) = capture.spool.folder.iterdir()
    return [record for _, record in iterate_records(file.read_bytes())]


def test_a_vector_that_answered_a_search_is_recorded_once_and_sealed(capture, embedder, session):
    sealer = Sealer([KEY])
    vectors = WordVectors(capture, embedder=embedder, sealer=sealer)
    (vector,) = embedder.embed(["find my records"], kind="query")
    for _ in range(2):
        vectors.record(session, words("  find my\trecords"))
    (record,) = recorded(capture)
    assert (record.team, record.intent_hash, record.model, record.at) == (
        1,
        5,
        embedder.model,
        7.0,
    )
    assert np.allclose(word_vectors.unseal_vector(record.sealed, sealer), vector, atol=1e-3)


@pytest.mark.parametrize("text", ["never embedded", "", "\x00"])
def test_no_vector_is_computed_for_the_memory(capture, embedder, session, text):
    WordVectors(capture, embedder=embedder, sealer=Sealer([KEY])).record(session, words(text))
    assert embedder.statistics.size == 0
    assert not capture.spool.folder.exists()
