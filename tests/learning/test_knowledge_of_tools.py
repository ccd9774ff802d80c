import pytest

from graph.models import (
    OutputShape,
    WorkflowPattern,
)
from learning.knowledge import learn_from_run
from learning.models import ToolExperience
from tests.factories import ServerFactory, TeamFactory, store_definition
from tests.graph.histories import taken
from tests.learning.ended_runs import ENDED, answered, called, ended_run, text, uncalled
from tests.learning.taught import observed, usage
from tools.definition import Definition
from tools.models import Tool

pytestmark = pytest.mark.django_db

INTENT = 'Find the log of "srv/app" and mail it'


def test_a_task_whose_tool_fails_speaks_against_the_order_and_counts_as_a_failed_call(
    chain, means, sealer
):
    tasks, (first, second) = chain
    second |= {"status": "failed", "error_code": "tool_error"}
    learn_from_run(
        ended_run(tasks, [first, second], sealer=sealer, status="failed"), means, at=ENDED
    )
    assert observed() == {
        ("a", "b", "precedes"): (0.0, 1.0, None),
        ("a", "b", "provides"): (0.0, 1.0, None),
    }
    assert usage() == {"a": (None, 1, 0), "b": (None, 1, 1)}
    assert ToolExperience.objects.get(tool__name="b").runs == 0


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("failed", "deadline_exceeded"),
        ("failed", "upstream_unavailable"),
        ("cancelled", ""),
        ("unknown", ""),
    ],
)
def test_calls_that_nobody_answered_say_nothing_of_their_tools(chain, means, sealer, status, code):
    tasks, (first, second) = chain
    second |= {"status": status, "error_code": code}
    learn_from_run(
        ended_run(tasks, [first, second], sealer=sealer, status="failed"), means, at=ENDED
    )
    assert (observed(), usage()) == ({}, {"a": (None, 1, 0)})


def test_skipped_tasks_say_nothing_and_a_failed_run_counts_against_its_pattern(
    tools, means, sealer
):
    tasks = [called("x", tools[0]), called("y", tools[1], "x")]
    rows = [answered(tasks[0], status="failed"), uncalled(tasks[1])]
    learn_from_run(
        ended_run(tasks, rows, sealer=sealer, status="failed", intent=INTENT), means, at=ENDED
    )
    assert observed() == {}
    assert usage() == {"a": (None, 1, 1)}
    pattern = WorkflowPattern.objects.get()
    assert (pattern.successes, pattern.failures) == (0, 1)
    assert pattern.tools == [tools[0].pk, tools[1].pk]


def test_a_direct_call_counts_and_teaches_neither_pattern_nor_use_in_a_workflow(
    tools, means, sealer
):
    task = called("call", tools[0])
    run = ended_run([task], [answered(task)], sealer=sealer, intent=INTENT, is_direct=True)
    learned = learn_from_run(run, means, at=ENDED)
    assert learned is not None
    assert not learned.has_pattern
    assert usage() == {"a": (None, 1, 0)}
    known = ToolExperience.objects.get()
    assert (known.runs, known.calls) == (0, 1)


def test_a_task_that_ran_for_each_of_a_list_is_one_task_and_many_calls(tools, means, sealer):
    first = called("x", tools[0])
    each = called("y", tools[1], text={"$item": "/name"}) | {"for_each": taken("x", "/found")}
    rows = [
        answered(first),
        answered(each, status="failed"),  # stands for the list
        *(answered(each, item=item, after_s=2.0, took_s=0.001 * item) for item in range(3)),
        answered(each, item=3, after_s=2.0, status="failed"),
    ]
    run = ended_run([first, each], rows, sealer=sealer, intent=INTENT, status="partial_success")
    learn_from_run(run, means, at=ENDED)
    assert usage()["b"] == (None, 4, 1)
    assert observed()["a", "b", "precedes"] == (0.75, 0.25, 1.0)
    pattern = WorkflowPattern.objects.get()
    assert pattern.tools == [tools[0].pk, tools[1].pk]
    assert pattern.failures == 1
    assert pattern.tasks[1]["references"] == [
        {"parameter": "text", "task": "t1", "pointer": "/found/0/name"}
    ]


def test_of_a_run_that_was_replanned_the_last_plan_counts_and_every_call(tools, means, sealer):
    old = called("y", tools[1], "x")
    new = [called("x", tools[0]), called("z", tools[2], "x")]
    rows = [answered(new[0]), answered(old, status="failed"), answered(new[1], after_s=1.0)]
    run = ended_run(new, rows, sealer=sealer, intent=INTENT, version=2)
    learn_from_run(run, means, at=ENDED)
    assert WorkflowPattern.objects.get().tools == [tools[0].pk, tools[2].pk]
    assert usage()["b"] == (None, 1, 1)
    assert ("a", "c", "precedes") in observed()
    assert ("a", "b", "precedes") not in observed()


@pytest.mark.parametrize("how", ["renamed", "deleted", "of another team"])
def test_a_tool_that_is_gone_is_left_out_with_its_pattern(chain, tools, means, sealer, how):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    if how == "deleted":
        tools[1].delete()
    elif how == "renamed":
        Tool.objects.filter(pk=tools[1].pk).update(name="elsewhere")
    else:
        Tool.objects.filter(pk=tools[1].pk).update(server=ServerFactory(team=TeamFactory()))
    learned = learn_from_run(run, means, at=ENDED)
    assert learned is not None
    assert not learned.has_pattern
    assert usage() == {"a": (None, 1, 0)}
    assert observed() == {}


def test_results_of_a_definition_that_was_replaced_change_no_shape(tools, means, sealer):
    (tool, *_) = tools
    task = called("x", tool)
    row = answered(task, definition_hash=tool.definition.hash)
    run = ended_run([task], [row], sealer=sealer, results=[("x", -1, text({"old": 1}))])
    newer = Definition(
        name=tool.name, title="", description="newer", input_schema={}, output_schema=None,
        annotations={},
    )  # fmt: skip
    tool.definition = store_definition(tool, newer)
    tool.save()
    learn_from_run(run, means, at=ENDED)
    assert not OutputShape.objects.exists()


def test_shapes_of_several_results_of_a_tool_are_merged_and_large_ones_left_alone(
    tools, means, sealer, monkeypatch
):
    from execution.store import unlearned_runs  # noqa: PLC0415

    monkeypatch.setattr(unlearned_runs, "MAX_RESULT_BYTES", 1_000)
    tasks = [called(name, tools[0]) for name in "xyz"]
    rows = [answered(task, definition_hash=tools[0].definition.hash) for task in tasks]
    given = [{"a": 1}, {"a": 2, "b": "c"}, {"large": "x" * 2_000}]
    results = [(name, -1, text(value)) for name, value in zip("xyz", given, strict=True)]
    learn_from_run(ended_run(tasks, rows, sealer=sealer, results=results), means, at=ENDED)
    assert set(OutputShape.objects.get().schema["properties"]) == {"a", "b"}
