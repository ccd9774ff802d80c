"""How often an operation asks the database: as often for many rows as for few."""

import psycopg
import pytest

from gateway_project.api import runtime
from tests.factories import (
    EvidenceFactory,
    RelationFactory,
    ServerFactory,
    ToolFactory,
)
from tests.gateway.api.operations import OPERATIONS, fill
from tests.gateway.api.test_team_border import QUERIES, Foreign, store_foreign

pytestmark = pytest.mark.django_db

AUTHENTICATION = 2
"""Queries for a token and its user's groups, where no gateway keeps them in memory."""
QUERY_COUNTS = {
    "agreements/": 1,
    "approvals/": 2,
    "approvals/<uuid:approval>/": 3,
    "audit/": 1,
    "budgets/": 2,
    "budgets/<path:server>/": 2,
    "configuration/": 12,
    "dangerous-operations/": 1,
    "dangerous-operations/<int:pk>/": 1,
    "definitions/": 3,
    "definitions/<int:pk>/": 3,
    "episodes/": 1,
    "grants/": 1,
    "grants/proposals/": 6,
    "graph/": 0,
    "graph/path/": 0,
    "graph/subgraph/": 0,
    "health/": 1,
    "metrics/": 16,
    "patterns/": 1,
    "patterns/<int:pk>/": 1,
    "people/": 4,
    "people/<str:name>/": 4,
    "runs/": 2,
    "runs/<uuid:run>/": 10,
    "search/": 0,
    "servers/": 1,
    "servers/<path:name>/": 1,
    "settings/": 0,
    "speculations/": 1,
    "speculations/<uuid:speculation>/": 1,
    "speculation/": 1,
    "storage/": 2,
    "teams/": 1,
    "teams/<path:name>/members/": 2,
    "teams/<path:name>/": 1,
    "thresholds/": 1,
    "thresholds/backtest/": 2,
    "thresholds/<int:pk>/": 1,
    "thresholds/<int:pk>/history/": 2,
    "tokens/": 1,
    "webhooks/": 1,
    "webhooks/<int:pk>/": 1,
    "webhooks/<int:pk>/deliveries/": 2,
    "tool-groups/": 1,
    "tool-groups/<str:name>/": 1,
    "tools/": 0,
    "tools/<path:tool>/related/": 0,
    "tools/<path:tool>/alternatives/": 0,
    "tools/<path:tool>/settings/": 0,
    "tools/<path:tool>/": 0,
}


@pytest.fixture
def shared(db):
    server = ServerFactory(name="shared")
    tools = [ToolFactory(server=server, name=name) for name in ("read", "write")]
    EvidenceFactory(relation=RelationFactory(source=tools[0], target=tools[1]))
    return tools


@pytest.fixture
def counted(monkeypatch):
    """Return the list of statements that are sent from now on, but for savepoints."""
    sent = []
    execute = psycopg.Cursor.execute

    def count(cursor, query, *args, **options):
        if "SAVEPOINT" not in str(query):
            sent.append(str(query))
        return execute(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", count)
    return sent


def count_queries(api, counted, foreign: Foreign, monkeypatch) -> dict[str, int]:
    """Return how often each operation that reads asks the database, beside authentication."""
    effects = runtime.load_effects(None)
    monkeypatch.setattr(runtime, "load_effects", lambda _: effects)
    found = {}
    for route, methods in OPERATIONS.items():
        if "GET" not in methods or route.endswith("events/"):
            continue
        counted.clear()
        values = foreign.ids.get(route.split("/")[0], {})
        response = api.get(fill(route, **values) + QUERIES.get(route, ""))
        assert response.status_code in (200, 404), (route, response.content)
        found[route] = len(counted) - AUTHENTICATION
    return found


def test_no_operation_asks_more_often_than_it_needs_to(
    root, shared, payloads, counted, monkeypatch
):
    foreign = store_foreign(shared, payloads)
    with monkeypatch.context() as patch:
        once = count_queries(root, counted, foreign, patch)
    for place in range(3):
        store_foreign(shared, payloads, name=f"bravo{place}")
    with monkeypatch.context() as patch:
        assert count_queries(root, counted, foreign, patch) == once
    assert once == QUERY_COUNTS
