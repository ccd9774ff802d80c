import re
from pathlib import Path

import pytest

from execution.call import CallError, InvalidArguments
from gateway_project.foundation.schema import Problem
from gateway_project.mcp import errors
from gateway_project.mcp.arguments import InvalidRequest
from gateway_project.mcp.failure import META_KEY
from gateway_project.mcp.readiness import NotReady
from gateway_project.pass_through import PassThroughError
from tools.query_text import QueryError

BASE = Path(__file__).resolve().parent.parent.parent
DOCUMENTED = set(
    re.findall(r"^\| `(\w+)` \|", (BASE / "docs" / "errors.md").read_text(), re.MULTILINE)
)
SOURCES = [*(BASE / "gateway_project").rglob("*.py"), *(BASE / "execution").rglob("*.py")]


def descendants(kind):
    return {kind}.union(*(descendants(below) for below in kind.__subclasses__()))


def raised_by_name():
    """Codes given to NotReady where it is raised."""
    text = "\n".join(path.read_text() for path in SOURCES)
    return set(re.findall(r'NotReady\(\s*"(\w+)"', text))


def test_every_code_is_documented_and_no_other():
    roots = [kind for kind in errors._OWN if kind is not NotReady]
    kinds = {below for root in roots for below in descendants(root)}
    used = {kind.code for kind in kinds} - {CallError.code, PassThroughError.code}
    assert used | raised_by_name() | {errors.INTERNAL} == DOCUMENTED


def test_a_query_that_says_nothing_is_an_argument_that_does_not_fit():
    assert errors.explain(QueryError("empty")) == ("invalid_arguments", "empty")


@pytest.mark.parametrize("kind", [InvalidArguments, InvalidRequest])
def test_what_is_expected_is_shown_where_the_message_does_not_say_it(kind):
    problems = (
        Problem(
            path="/a", message="a must be an integer, not 5.5", expected="integer, at least 1"
        ),
        Problem(path="/b", message="b is missing; expected string", expected="string"),
    )
    result = errors.result(kind("git:log", problems))
    assert result.content[0].text.splitlines()[1:] == ['expected: {"a": "integer, at least 1"}']
    assert len(result.meta[META_KEY]["problems"]) == 2


def test_an_error_is_one_line_with_its_code_first():
    result = errors.result(NotReady("database_unavailable", "cannot reach PostgreSQL"))
    assert result.is_error
    assert result.content[0].text == "database_unavailable: cannot reach PostgreSQL"
    assert set(result.meta[META_KEY]) == {"code", "request_id"}
