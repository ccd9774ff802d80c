from gateway_project.find import work_context
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from learning.memory.context import Context
from tests.gateway.catalogues import catalogue, tool
from tools.visibility import Visibility

ADMIN = Caller(user="admin", team=1, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
VISIBILITY = Visibility(
    catalogue=catalogue(
        tool("git:log", pk=1, category="code"),
        tool("git:show", pk=2, category="code"),
        tool("files:read", pk=3),
        tool("mail:send", pk=4, category="mail"),
        tool("theirs:secret", pk=5, category="theirs", team=2),
    ),
    caller=ADMIN,
)


def test_a_search_is_described_by_the_categories_of_its_best_hits():
    assert work_context.describe_search(VISIBILITY, [3, 1, 2, 4]) == Context(
        workflow_type="code+files", domain="files", complexity="single"
    )


def test_tools_that_the_caller_does_not_see_describe_nothing():
    assert work_context.describe_search(VISIBILITY, [5, 9]).workflow_type == ""


def describe(probabilities, **values):
    stated = values.pop("stated", {})
    return work_context.describe_intent(
        VISIBILITY, probabilities, stated=stated, clause_count=values.get("clauses", 2)
    )


def test_an_intent_is_described_by_its_likeliest_tools_and_its_clauses():
    found = describe({4: 0.2, 3: 0.9, 1: 0.5, 2: 0.5})
    assert found == Context(workflow_type="code+files", domain="files", complexity="few")


def test_what_the_client_states_comes_first():
    stated = {"workflow_type": " Release ", "domain": "Ops", "complexity": "high"}
    assert describe({1: 0.9}, stated=stated) == Context(
        workflow_type="release", domain="ops", complexity="high"
    )
    assert describe({1: 0.9}, stated={"domain": "ops"}).workflow_type == "code"
