from datetime import timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.ended_run import AnsweredCalls, EndedRun
from execution.status import RunStatus
from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.references import ReferenceTarget, make_reference
from learning import observations
from learning.past_run import build_past_run
from tests.learning.ended_runs import ENDED

TOOLS = {"s:a": 1, "s:b": 2, "s:c": 3}


def answered(task, tool, *, held=1, failed=0, start_s=0.0):
    start = ENDED + timedelta(seconds=start_s)
    return AnsweredCalls(
        task=task,
        tool=tool,
        succeeded=held,
        failed=failed,
        started_at=start,
        ended_at=start + timedelta(seconds=1),
    )


def run(*tasks, calls=(), status=RunStatus.SUCCEEDED, intent="do it", is_direct=False):
    return EndedRun(
        run=uuid4(),
        contributor=Contributor(None, None),
        status=status,
        is_direct=is_direct,
        ended_at=ENDED,
        intent=intent,
        workflow=Workflow(tasks=tasks),
        answered_calls=tuple(calls),
    )


def test_tools_that_nobody_knows_are_left_out():
    tasks = (
        WorkflowTask(id="a", tool="s:gone"),
        WorkflowTask(id="b", tool="s:b", depends_on=("a",)),
    )
    one = run(*tasks, calls=[answered("a", "s:gone"), answered("b", "s:b")])
    assert observations.observe_order(one, TOOLS) == []
    assert observations.collect_used_tools(one, TOOLS) == {2}
    assert build_past_run(one, TOOLS) is None


def test_a_run_of_very_many_tools_says_nothing_of_any_two_of_them():
    used = frozenset(range(observations.MAX_CO_USED_TOOLS + 1))
    assert observations.observe_co_use(used, known=[], before={}, at=ENDED) == []


@given(st.lists(st.sets(st.integers(0, 5), max_size=4), max_size=12))
def test_together_counts_co_occurrences_and_the_larger_usage(runs):
    held, missed, before = {}, {}, {}
    for used in runs:
        for one in observations.observe_co_use(used, known=held, before=before, at=ENDED):
            pair = (one.source, one.target)
            held[pair] = held.get(pair, 0) + one.successes
            missed[pair] = missed.get(pair, 0) + one.failures
        for tool in used:
            before[tool] = before.get(tool, 0) + 1
    for one, other in held:
        both = sum({one, other} <= used for used in runs)
        assert held[one, other] == both
        assert held[one, other] + missed[one, other] == max(before[one], before[other])


def test_items_of_a_list_become_references_to_its_first_at_any_depth():
    each = WorkflowTask(
        id="b",
        tool="s:b",
        arguments={
            "whole": {"$item": ""},
            "deep": [{"of": {"$item": "/id"}}],
            "escaped": {"$literal": {"$item": "/id"}},
            "other": make_reference("a", "/total"),
        },
        references=("a",),
        for_each=ReferenceTarget(task="a", pointer="/found"),
    )
    one = run(WorkflowTask(id="a", tool="s:a"), each, calls=[answered("a", "s:a")])
    past = build_past_run(one, TOOLS)
    assert past is not None
    assert past.tasks[1].depends_on == ("a",)
    assert past.tasks[1].arguments == {
        "whole": make_reference("a", "/found/0"),
        "deep": [{"of": make_reference("a", "/found/0/id")}],
        "escaped": {"$literal": {"$item": "/id"}},
        "other": make_reference("a", "/total"),
    }


@pytest.mark.parametrize(
    "values",
    [
        {"intent": " "},
        {"intent": "?!."},
        {"is_direct": True},
        {"status": RunStatus.ABORTED},
        {"calls": ()},
    ],
)
def test_what_says_nothing_of_a_workflow_is_no_past_run(values):
    tasks = (WorkflowTask(id="a", tool="s:a"),)
    assert build_past_run(run(*tasks, **{"calls": [answered("a", "s:a")]} | values), TOOLS) is None


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.PARTIAL_SUCCESS])
def test_a_run_that_did_not_wholly_succeed_did_not_succeed(status):
    past = build_past_run(
        run(WorkflowTask(id="a", tool="s:a"), calls=[answered("a", "s:a")], status=status), TOOLS
    )
    assert past is not None
    assert not past.succeeded
