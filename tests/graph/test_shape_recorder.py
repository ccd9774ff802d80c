import asyncio

import django.db
import pytest

from gateway_project.foundation.database import run_in_database_thread
from graph import output_shape, shape_recorder
from graph.models import OutputShape
from graph.shape_recorder import MAX_QUEUED, ShapeRecorder
from graph.store import shapes
from tests.factories import TeamFactory, ToolFactory
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

GONE = 10**9


@pytest.fixture(autouse=True)
def _plain_shapes(monkeypatch):
    """A shape is the names a result holds; that of no name is none."""

    def shape_of(result):
        return {"properties": {name: {} for name in sorted(result)}} if result else None

    def merge(one, other):
        return {"properties": dict(sorted((one["properties"] | other["properties"]).items()))}

    monkeypatch.setattr(output_shape, "describe_shape", shape_of)
    monkeypatch.setattr(output_shape, "merge_shapes", merge)
    monkeypatch.setattr(shape_recorder, "FLUSH_INTERVAL_S", 0)


def stored():
    return {
        (row.tool_id, row.team_id): (
            row.definition_hash,
            set(row.schema["properties"]),
            row.samples,
        )
        for row in OutputShape.objects.all()
    }


async def test_shapes_widen_with_observed_results():
    tool, changes = await run_in_database_thread(ToolFactory), []
    kept = ShapeRecorder(on_changed=lambda: changes.append(1))
    for result in ({"id": 1}, {"name": "x"}, {"id": 2}, {}):
        kept.enqueue_result(tool.pk, None, "v1", result)
        await kept.flush()
    assert await run_in_database_thread(stored) == {(tool.pk, None): ("v1", {"id", "name"}, 3)}
    assert len(changes) == 2


async def test_each_team_has_separate_counts():
    tool, team = (
        await run_in_database_thread(ToolFactory),
        await run_in_database_thread(TeamFactory),
    )
    kept = ShapeRecorder()
    kept.enqueue_result(tool.pk, None, "v1", {"id": 1})
    kept.enqueue_result(tool.pk, team.pk, "v1", {"secret_field": 1})
    await kept.flush()
    assert await run_in_database_thread(stored) == {
        (tool.pk, None): ("v1", {"id"}, 1),
        (tool.pk, team.pk): ("v1", {"secret_field"}, 1),
    }


async def test_in_a_flood_some_results_are_examined_and_the_rest_counted():
    tools = await run_in_database_thread(ToolFactory.create_batch, 2)
    kept = ShapeRecorder()
    for number in range(MAX_QUEUED + 3):
        kept.enqueue_result(GONE + number, None, "v1", {"id": 1})
    for _ in range(5):
        kept.enqueue_result(tools[0].pk, None, "v1", {"id": 1})
    assert kept.dropped == 8
    await kept.flush()
    for _ in range(5):
        kept.enqueue_result(tools[1].pk, None, "v1", {"id": 1})
    await kept.flush()
    assert await run_in_database_thread(stored) == {(tools[1].pk, None): ("v1", {"id"}, 1)}


async def test_shapes_the_database_rejects_are_dropped(monkeypatch):
    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(shapes, "record_shapes", away)
    kept = ShapeRecorder()
    kept.enqueue_result(1, None, "v1", {"id": 1})
    await kept.flush()


async def test_shapes_are_learnt_in_the_background():
    tool, changed = await run_in_database_thread(ToolFactory), asyncio.Event()
    kept = ShapeRecorder(on_changed=changed.set)
    task = asyncio.ensure_future(kept.run())
    kept.enqueue_result(tool.pk, None, "v1", {"id": 1})
    async with asyncio.timeout(PATIENCE_S):
        await changed.wait()
    task.cancel()
    await asyncio.wait([task])


async def test_only_shapes_of_the_current_definition_are_loaded():
    tool, other = await run_in_database_thread(ToolFactory.create_batch, 2)
    kept = ShapeRecorder()
    kept.enqueue_result(tool.pk, None, tool.definition.hash, {"id": 1})
    kept.enqueue_result(other.pk, None, "an older one", {"id": 1})
    await kept.flush()
    assert await run_in_database_thread(shapes.load_shapes) == {
        (tool.pk, None): {"properties": {"id": {}}}
    }
