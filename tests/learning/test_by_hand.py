from uuid import uuid4

import pytest

from execution.ended_run import CallDurations
from execution.status import RunStatus
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.references import make_reference
from graph.relations import RelationKind
from learning import observations
from learning.by_hand import build_ended_run
from learning.episodes import Episode, ValueSource
from learning.past_run import build_past_run
from tests.learning.session_calls import PKS, call, passed, taken

CERTAINTY = 0.8


def ended(*calls, intent="do it"):
    episode = Episode(calls=calls, intent=intent, certainty=CERTAINTY)
    return build_ended_run(episode, run=uuid4(), contributor=Contributor(None, None))


def tasks(*calls):
    """Return (tool, what it waits for) of each task."""
    return [(task.tool, task.waits_for) for task in ended(*calls).workflow.tasks]


def test_arguments_taken_from_results_become_references():
    first = call(0, "s:a", arguments={"q": "x"})
    second = call(
        1,
        "s:b",
        taken("/id", 0, "/users/2/id"),
        arguments={"id": "u-7", "limit": 5, "odd": {"$item": "/x"}, "list": [{"$item": ""}]},
    )
    past = build_past_run(ended(first, second), PKS)
    assert past is not None
    assert past.tasks[1].arguments == {
        "id": make_reference("t1", "/users/2/id"),
        "limit": 5,
        "odd": {"$literal": {"$item": "/x"}},
        "list": [{"$literal": {"$item": ""}}],
    }
    assert (past.weight, past.succeeded, past.intent) == (CERTAINTY, True, "do it")


def test_a_value_at_a_deeper_place_is_replaced_there():
    second = call(1, "s:b", taken("/body/to~1cc/0", 0), arguments={"body": {"to/cc": ["u-7", 1]}})
    (_, task) = ended(call(0, "s:a"), second).workflow.tasks
    assert task.arguments == {"body": {"to/cc": [make_reference("t1", "/id"), 1]}}


def test_a_word_of_a_text_makes_a_task_wait_without_a_reference():
    source = ValueSource("/id", 0)
    one = call(1, "s:b", source, arguments={"id": "u-7"}, is_read_only=True)
    run = ended(call(0, "s:a", is_read_only=True), one)
    assert run.workflow.tasks[1].waits_for == ("t1",)
    assert run.workflow.tasks[1].arguments == {"id": "u-7"}
    kinds = {seen.kind for seen in observations.observe_order(run, PKS)}
    assert kinds == {RelationKind.PRECEDES}


def test_reads_without_data_flow_have_no_order():
    read = {"is_read_only": True}
    assert tasks(call(0, "s:a", **read), call(1, "s:b", **read)) == [("s:a", ()), ("s:b", ())]


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (False, False)])
def test_what_may_change_something_keeps_its_place(first, second):
    calls = call(0, "s:a", is_read_only=first), call(1, "s:b", is_read_only=second)
    assert tasks(*calls) == [("s:a", ()), ("s:b", ("t1",))]


def test_a_value_that_both_calls_passed_is_no_data_flow():
    read = {"is_read_only": True}
    assert tasks(call(0, "s:a", **read), call(1, "s:b", passed("/p", 0), **read))[1] == ("s:b", ())


def test_calls_for_each_item_of_a_list_are_one_task():
    each = [
        call(n, "s:b", taken("/id", 0, f"/items/{n}/id"), is_read_only=True) for n in (1, 2, 3)
    ]
    last = call(4, "s:c", taken("/text", 2, "/text"), is_read_only=True)
    run = ended(call(0, "s:a", is_read_only=True), *each, last)
    assert [(one.tool, one.waits_for) for one in run.workflow.tasks] == [
        ("s:a", ()),
        ("s:b", ("t1",)),
        ("s:c", ("t2",)),
    ]
    assert [one.succeeded for one in run.answered_calls] == [1, 3, 1]
    assert {seen.successes for seen in observations.observe_order(run, PKS)} == {CERTAINTY}


def test_a_failure_that_was_repeated_with_success_is_no_task():
    run = ended(call(0, "s:a", succeeded=False), call(1, "s:a"), call(2, "s:b", taken("/id", 1)))
    assert run.status is RunStatus.SUCCEEDED
    assert [one.tool for one in run.workflow.tasks] == ["s:a", "s:b"]


@pytest.mark.parametrize(
    ("succeeded", "status"),
    [
        ((True, False), RunStatus.PARTIAL_SUCCESS),
        ((False, False), RunStatus.FAILED),
        ((True, True), RunStatus.SUCCEEDED),
    ],
)
def test_a_tool_that_failed_to_the_end_counts_against_the_workflow(succeeded, status):
    first, second = succeeded
    run = ended(call(0, "s:a", succeeded=first), call(1, "s:b", taken("/id", 0), succeeded=second))
    assert run.status is status
    seen = observations.observe_order(run, PKS)
    if first and not second:
        assert {(one.successes, one.failures) for one in seen} == {(0.0, CERTAINTY)}


def test_every_call_counts_for_the_latency_of_its_tool():
    failed = call(0, "s:a", succeeded=False, took_s=0.003)
    run = ended(failed, call(1, "s:a", took_s=0.004), call(2, "s:a", took_s=9.0))
    durations = CallDurations(tool="s:a", calls=3, total_ms=pytest.approx(9_007.0))
    assert run.call_durations == (durations,)
