"""Rooms of runs, approvals, speculation and learning ask as often for many rows as for few."""

import pytest

from execution.models import Approval
from gateway_project.foundation import sealing
from graph.models import WorkflowPattern
from learning.models import AdaptiveThreshold
from tests.execution.asking import waiting
from tests.execution.stored import ended
from tests.factories import ServerFactory, ToolFactory
from tests.gateway.rooms.test_speculation import make_pattern, make_threshold, predict

pytestmark = pytest.mark.django_db
MOST_QUERIES = 30
PATHS = (
    "/runs/",
    "/approvals/",
    "/speculation/",
    "/speculation/grants/",
    "/speculation/budgets/",
    "/learning/",
    "/learning/thresholds/",
    "/learning/patterns/",
    "/learning/memory/",
)


def fill(home, *, rows):
    sealer = sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)
    for place in range(rows):
        tool = ToolFactory(server=ServerFactory(name=f"name{rows}-{place}"))
        waiting(sealer)
        ended(sealer)
        predict(tools=[tool.pk])
        if not place:
            make_threshold()
    make_pattern(tools=[tool.pk])


def count_queries(client, counted):
    found = {}
    paths = [*PATHS, f"/runs/{Approval.objects.first().run_id}/"]
    for path in paths:
        counted.clear()
        assert client.get(path).status_code == 200
        found[path.rpartition("-")[0] or path] = len(counted)
    return list(found.values())


def test_no_live_room_asks_more_often_for_more_rows(root, home, counted):
    fill(home, rows=1)
    count_queries(root, counted)  # what is asked once per process
    once = count_queries(root, counted)
    WorkflowPattern.objects.all().delete()
    AdaptiveThreshold.objects.all().delete()
    fill(home, rows=5)
    assert count_queries(root, counted) == once
    assert max(once) <= MOST_QUERIES
