from datetime import UTC, datetime

import pytest

from tests.factories import ServerFactory
from tools.models import Server, ServerItems
from tools.store import items

pytestmark = pytest.mark.django_db
AT = datetime(2026, 5, 4, tzinfo=UTC)


def record(name, **lists):
    items.record_items(name, lists, at=AT)


def test_the_last_list_is_stored_by_server_and_kind():
    ServerFactory(name="a")
    ServerFactory(name="b")
    record("a", prompts=[{"name": "old"}], resources=[{"uri": "x:y", "name": "y"}])
    record("a", prompts=[{"name": "new", "description": "half \ud800"}])
    record("b", prompts=[])
    assert items.load_items("prompts", ["a", "b", "c"]) == {
        "a": ({"name": "new", "description": "half \ufffd"},),
        "b": (),
    }
    assert items.load_items("resources", ["b"]) == {}


@pytest.mark.parametrize(
    "change", [{"command": "other"}, {"env_sealed": "x"}, {"session": "per_caller"}]
)
def test_a_list_is_void_once_the_server_is_started_otherwise(change):
    ServerFactory(name="a")
    record("a", prompts=[{"name": "x"}])
    Server.objects.update(description="nothing to do with it")
    assert set(items.load_items("prompts", ["a"])) == {"a"}
    Server.objects.update(**change)
    assert items.load_items("prompts", ["a"]) == {}


def test_a_list_that_is_too_long_is_forgotten(monkeypatch):
    ServerFactory(name="a")
    record("a", prompts=[{"name": "x"}])
    monkeypatch.setattr(items, "MAX_BYTES", 100)
    record("a", prompts=[{"name": "x" * 100}])
    assert not ServerItems.objects.exists()


@pytest.mark.parametrize("how", [{"session": "per_caller"}, {"authorization": "oauth_per_user"}])
def test_per_caller_lists_are_not_stored(how):
    remote = {"transport": "http", "command": "", "url": "https://a.example/mcp"}
    ServerFactory(name="a", **remote, **how)
    record("a", prompts=[{"name": "of one user"}])
    Server.objects.update(session="shared", authorization="none")
    assert items.load_items("prompts", ["a"]) == {}
