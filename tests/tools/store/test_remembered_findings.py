"""Dangers of stored tools: what is worked out once for a definition."""

import pytest

from tests.factories import ToolFactory
from tools.store import catalogue, danger

pytestmark = pytest.mark.django_db
RUNS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


@pytest.fixture
def examined(monkeypatch):
    """Return the names of the tools whose definitions are examined, from now on."""
    names = []
    find = danger.find_executable_input

    def counting(name, *args):
        names.append(name)
        return find(name, *args)

    monkeypatch.setattr(danger, "find_executable_input", counting)
    monkeypatch.setattr(danger, "_input_cache", {})
    return names


def dangers():
    return {name: tool.danger for name, tool in catalogue.load_catalogue().tools.items()}


def test_a_definition_is_examined_once_however_often_the_catalogue_is_loaded(examined):
    ToolFactory(server__name="s", name="run_it", input_schema=RUNS)
    ToolFactory(server__name="t", name="read", input_schema={"type": "object"})
    first = dangers()
    assert sorted(examined) == ["read", "run_it"]
    assert dangers() == first
    assert len(examined) == 2


def test_the_findings_cache_is_bounded(examined, monkeypatch):
    monkeypatch.setattr(danger, "MAX_REMEMBERED", 2)
    for name in ("a", "b", "c"):
        ToolFactory(name=name)
    dangers()
    assert len(danger._input_cache) == 2
