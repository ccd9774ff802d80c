import itertools
from datetime import UTC, datetime, timedelta

import pytest

from tests.factories import (
    ServerFactory,
)
from tools.definition import Definition
from tools.models import Tool, ToolDefinition
from tools.store import catalogue

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
READ = Definition(name="read", description="Reads.", input_schema={"type": "object"})
READ_MORE = Definition(name="read", description="Reads more.", input_schema={"type": "object"})
READ_MOST = Definition(name="read", description="Reads most.", input_schema={"type": "object"})
WRITE = Definition(name="write", description="Writes.", input_schema={"type": "object"})


@pytest.fixture
def record():
    """Record listings of server `s`, each a minute after the last."""
    ServerFactory(name="s")
    minutes = itertools.count()

    def _record(*listed, approve_new=True, **options):
        at = START + timedelta(minutes=next(minutes))
        return catalogue.record_listing("s", listed, at=at, approve_new=approve_new, **options)

    return _record


def states():
    return dict(Tool.objects.values_list("name", "state"))


def pinned(name="read"):
    return Tool.objects.get(name=name).definition.description


def rows():
    return (
        list(Tool.objects.order_by("pk").values("pk", "name", "state", "definition_id")),
        list(ToolDefinition.objects.order_by("pk").values()),
    )
