"""Tools, and a run of two of them that take from each other."""

import pytest

from learning.dependencies import LearningDependencies
from tests.execution import run_setup
from tests.factories import ServerFactory, ToolFactory
from tests.graph.histories import taken
from tests.learning.ended_runs import answered, called

SCHEMA = {"type": "object", "properties": {"q": {}, "text": {}, "to": {}}}


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Fail no test of runs because the machine was slow."""
    run_setup.have_patience(monkeypatch)


@pytest.fixture
def server(db):
    return ServerFactory(name="s")


@pytest.fixture
def tools(server):
    return [ToolFactory(server=server, name=name, input_schema=SCHEMA) for name in "abcd"]


@pytest.fixture
def means(sealer):
    return LearningDependencies(sealer=sealer, payload_sealer=sealer)


@pytest.fixture
def chain(tools):
    """Return two tasks of which the second takes from the first, and their rows."""
    first = called("x", tools[0], q="log")
    second = called("y", tools[1], text=taken("x", "/text"))
    return [first, second], [answered(first), answered(second, after_s=3.0)]
