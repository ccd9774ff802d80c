import pytest
from cryptography.fernet import Fernet

from gateway_project.foundation.sealing import Sealer
from graph.embed_patterns import EmbeddedPatterns, embed_missing_patterns
from graph.models import PatternEmbedding
from graph.record_runs import record_runs
from graph.store import patterns
from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import run, task

pytestmark = pytest.mark.django_db

OLD, NEW = FakeEmbedder(), FakeEmbedder(model="fake/other", dimensions=8)


@pytest.fixture
def recorded(sealer):
    tool = ToolFactory().pk
    runs = [
        run("r1", 'Send "it" to ann@example.org today', task("x", tool)),
        run("r2", "Read the report", task("x", tool)),
    ]
    record_runs(runs, team=None, embedder=OLD, sealer=sealer)


def test_intents_are_prepared_for_another_model_while_the_old_serves(recorded, sealer):
    told = []
    done = embed_missing_patterns(
        NEW, sealer=sealer, on_progress=lambda *given: told.append(given)
    )
    assert (done, told) == (EmbeddedPatterns(embedded=2), [(0, 2), (2, 2)])
    assert {
        len(patterns.load_history(None, model, sealer=sealer)) for model in (OLD.model, NEW.model)
    } == {2}
    assert {
        one.encoded.whole.shape for one in patterns.load_history(None, NEW.model, sealer=sealer)
    } == {(8,)}
    assert "Send to today" in NEW.embedded, "of an intent only what has no values is left"
    assert embed_missing_patterns(NEW, sealer=sealer) == EmbeddedPatterns()


def test_what_was_recorded_without_a_model_is_embedded_later(sealer):
    runs = [run("r1", "Read the report", task("x", ToolFactory().pk))]
    record_runs(runs, team=None, embedder=None, sealer=sealer)
    assert embed_missing_patterns(OLD, sealer=sealer) == EmbeddedPatterns(embedded=1)
    assert len(patterns.load_history(None, OLD.model, sealer=sealer)) == 1


def test_intents_that_cannot_be_read_are_left_and_counted(recorded, sealer):
    tool = ToolFactory().pk
    record_runs([run("r3", "10.0.0.1", task("x", tool))], team=None, embedder=OLD, sealer=sealer)
    assert embed_missing_patterns(NEW, sealer=sealer) == EmbeddedPatterns(embedded=2, unreadable=1)
    PatternEmbedding.objects.filter(model=NEW.model).delete()
    foreign = Sealer([Fernet.generate_key()])
    assert embed_missing_patterns(NEW, sealer=foreign) == EmbeddedPatterns(unreadable=3)
