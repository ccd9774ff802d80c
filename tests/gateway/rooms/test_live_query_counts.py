"""Rooms of runs, approvals, speculation and learning ask as often for many rows as for few."""

import pytest

from execution.models import Approval, Speculation
from gateway_project.console.rooms.report_cache import REPORTS
from gateway_project.foundation import sealing
from graph.models import WorkflowPattern
from learning.models import AdaptiveThreshold
from tests.execution.asking import waiting
from tests.execution.stored import ended
from tests.factories import ServerFactory, ToolFactory
from tests.gateway.rooms.predicted import make_pattern, make_threshold, predict

pytestmark = pytest.mark.django_db
QUERY_COUNTS = {
    "/runs/": 9,
    "/runs/RUN/": 25,
    "/approvals/": 12,
    "/approvals/APPROVAL": 12,
    "/speculation/": 27,
    "/speculation/PREDICTION/": 16,
    "/speculation/grants/": 16,
    "/speculation/budgets/": 15,
    "/learning/": 26,
    "/learning/thresholds/": 8,
    "/learning/thresholds/THRESHOLD/": 9,
    "/learning/patterns/": 13,
    "/learning/memory/": 14,
}


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
    approval = Approval.objects.first()
    ids = {
        "RUN": approval.run_id,
        "APPROVAL": approval.pk,
        "PREDICTION": Speculation.objects.first().pk,
        "THRESHOLD": AdaptiveThreshold.objects.first().pk,
    }
    found = {}
    for path in QUERY_COUNTS:
        address = path
        for name, pk in ids.items():
            address = address.replace(name, str(pk))
        REPORTS.clear()
        counted.clear()
        assert client.get(address).status_code == 200, address
        found[path] = len(counted)
    return found


def test_no_live_room_asks_more_often_for_more_rows(root, home, counted):
    fill(home, rows=1)
    count_queries(root, counted)  # what is asked once per process
    once = count_queries(root, counted)
    WorkflowPattern.objects.all().delete()
    AdaptiveThreshold.objects.all().delete()
    fill(home, rows=5)
    assert count_queries(root, counted) == once
    assert once == QUERY_COUNTS
