import re
from pathlib import Path

import pytest

from execution import codes, control
from execution.call import CallError, InvalidArguments, ToolUnavailable
from execution.control import ActionNotPossible
from execution.planning import references
from execution.process.journal import JournalClosed
from execution.running import failure, for_each, result_cache, steering
from gateway_project import prepare, urls
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.schema import ArgumentProblem
from gateway_project.foundation.user_error import UserError
from gateway_project.mcp import errors, wire
from gateway_project.mcp.arguments import InvalidRequest
from gateway_project.mcp.results import ERROR_KEY
from gateway_project.pass_through import PassThroughError
from gateway_project.readiness import NotReady
from gateway_project.runs.direct_call import DirectCallFailed
from gateway_project.use_cases import decide_approval
from tools.pinned_content import ContentUnavailable
from tools.upstream.errors import UpstreamRefused

BASE = Path(__file__).resolve().parent.parent.parent
DOCUMENTED = set(
    re.findall(r"^\| `(\w+)` \|", (BASE / "docs" / "errors.md").read_text(), re.MULTILINE)
)
SOURCES = [*(BASE / "gateway_project").rglob("*.py"), *(BASE / "execution").rglob("*.py")]
BY_INSTANCE = {DirectCallFailed, ActionNotPossible, NotReady, ContentUnavailable}
"""Their codes differ from one to the other."""
NAMED_IN_PLACE = {
    "nothing_succeeded",
    "run_paused",
    "run_unknown",
    "page_unavailable",
    "skill_unavailable",
}
"""Where all tasks of a run failed, where a single call is at rest, and of pinned contents."""


def descendants(kind):
    """Return a class and all below it, of the modules that serve MCP, REST and the console."""
    assert prepare
    assert urls
    return {kind}.union(*(descendants(below) for below in kind.__subclasses__()))


def raised_by_name():
    """Codes given to NotReady where it is raised."""
    text = "\n".join(path.read_text() for path in SOURCES)
    return set(re.findall(r'NotReady\(\s*"(\w+)"', text))


def of_runs():
    """Codes that runs and their tasks end with, and of what they cannot do."""
    raised = (failure.ApprovalUnusable, failure.CallCancelled, references.MissingReferent)
    bounds = (
        references.ReferencedDataTooLarge,
        for_each.NotAList,
        for_each.TooManyItems,
        JournalClosed,
    )
    return {
        *(kind.code for kind in (*raised, *bounds)),
        *(f"run_not_{rule.required_state}" for rule in control._RULES.values()),
        decide_approval.NOT_WAITING_CODE,
        codes.APPROVAL_REJECTED,
        codes.APPROVAL_EXPIRED,
        codes.TOOL_ERROR,
        steering.ABORTED,
        failure.CALL_LOST,
        result_cache.RunTooLarge.code,
        *NAMED_IN_PLACE,
        for_each.ITEM_FAILED,
        for_each.LIST_STOPPED,
        codes.EXPIRED,
    }


def test_exactly_the_error_codes_are_documented():
    kinds = {kind for kind in descendants(UserError) if not kind.__module__.startswith("tests.")}
    used = {kind.code for kind in kinds - BY_INSTANCE - {UserError, CallError, PassThroughError}}
    used |= {kind.code for kind in migrate.SchemaMismatch.__subclasses__()}
    used |= raised_by_name() | {errors.INTERNAL_CODE, wire._CODE} | of_runs()
    assert used == DOCUMENTED


@pytest.mark.parametrize("kind", [InvalidArguments, InvalidRequest])
def test_the_expected_value_is_added_where_the_message_lacks_it(kind):
    problems = (
        ArgumentProblem(
            path="/a", message="a must be an integer, not 5.5", expected="integer, at least 1"
        ),
        ArgumentProblem(path="/b", message="b is missing; expected string", expected="string"),
    )
    result = errors.build_error_result(kind("git:log", problems))
    text = result.raw["content"][0]["text"]
    assert text.splitlines()[1:] == ['expected: {"a": "integer, at least 1"}']
    assert len(result.meta[ERROR_KEY]["problems"]) == 2


def test_an_error_is_one_line_with_its_code_first():
    result = errors.build_error_result(NotReady("database_unavailable", "cannot reach PostgreSQL"))
    assert result.raw["isError"]
    assert result.raw["content"][0]["text"] == "database_unavailable: cannot reach PostgreSQL"
    assert set(result.meta[ERROR_KEY]) == {"code", "request_id"}


def test_the_url_elicitation_error_keeps_only_web_addresses():
    visits = [{"message": "m", "url": url, "elicitationId": "1"} for url in ("file:///x", None)]
    data = {"elicitations": [*visits, "odd"], "kept": 1}
    refusal = UpstreamRefused(server="git", rpc_code=-32042, rpc_message="visit", data=data)
    assert not errors.is_protocol_error(refusal, modern=False)
    data["elicitations"].append({"message": "m", "url": "http://x.y", "elicitationId": "2"})
    assert errors.is_protocol_error(refusal, modern=False)
    told = errors.to_protocol_error(refusal, modern=False)
    (visit,) = told.data["elicitations"]
    assert (visit["url"], visit["message"]) == ("http://x.y", "git asks: m")
    assert (told.code, told.data["kept"], visit["elicitationId"]) == (-32042, 1, "2")


def test_refusing_a_waiting_tool_reports_findings_in_its_texts():
    found = ("severe: bidi in title: a<U+202E>b", "notice: link in description: x\u200by")
    result = errors.build_error_result(ToolUnavailable("git:log", "quarantined", findings=found))
    assert result.raw["content"][0]["text"].splitlines()[1:] == [
        "found in its texts: severe: bidi in title: a<U+202E>b",
        "found in its texts: notice: link in description: xy",
    ]
    assert len(result.meta[ERROR_KEY]["warnings"]) == 2
