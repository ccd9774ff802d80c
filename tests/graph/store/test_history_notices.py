"""What the triggers tell of what runs have shown."""

import psycopg
import pytest
from psycopg import sql

from gateway_project.foundation import notify
from graph.models import FittedModel, WorkflowPattern
from graph.record_runs import record_runs
from graph.store import fitted_models, patterns
from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, task
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard():
    """Return what was told since the last time; a mark of one's own says that that is all."""
    parameters = notify.get_connection_parameters()
    with psycopg.connect(**parameters, autocommit=True) as listening:
        listening.execute(sql.SQL("LISTEN {}").format(sql.Identifier(notify.GRAPH)))

        def since():
            notify.send_notification(notify.GRAPH, "mark")
            told = []
            for notice in listening.notifies(timeout=PATIENCE_S):
                if notice.payload == "mark":
                    break
                told.append(notice.payload)
            return set(told)

        yield since


@pytest.fixture
def record(sealer):
    tool = ToolFactory().pk

    def work(key):
        runs = [run(key, "Send it", task("x", tool))]
        return record_runs(runs, team=None, embedder=FakeEmbedder(), sealer=sealer)

    return work


def test_a_new_run_is_notified_and_a_repeated_one_is_not(heard, record):
    record("r1")
    assert heard() == {patterns.CHANGE_NOTICE}
    record("r1")
    assert heard() == set()
    record("r2")
    assert heard() == {patterns.CHANGE_NOTICE}
    WorkflowPattern.objects.all().delete()
    assert heard() == {patterns.CHANGE_NOTICE}


def test_a_fitted_model_is_notified(heard):
    one = FittedModel(embedding_model="m", digest="d", content=b"c", seconds=0, peak_memory_mb=0)
    assert fitted_models.store_model(one, at=NOW)
    assert heard() == {fitted_models.CHANGE_NOTICE}
    assert fitted_models.drop_unused_models("m", [None]) == 1
    assert heard() == {fitted_models.CHANGE_NOTICE}
