import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from execution.planning.parse import InvalidWorkflow, dump, parse
from execution.planning.replan import merge_workflows
from execution.status import TaskStatus
from gateway_project.foundation.references import make_reference
from tests.execution.workflows import drawn, given, task, workflow

OLD = workflow(
    task("a"),
    task("b", "a"),
    task("c", "b", x=make_reference("a", "/id")),
    task("d", "c"),
    task("e"),
)
DONE = {"a": TaskStatus.SUCCEEDED, "b": TaskStatus.RUNNING, "e": TaskStatus.FAILED}


def merged(*tasks, old=OLD, done=DONE):
    return merge_workflows(old, parse(given(*tasks), known=done), done)


def ids(found):
    return [one.id for one in found.workflow.tasks]


def test_a_replan_keeps_begun_tasks_and_replaces_the_rest():
    found = merged(task("c", "b", x=1), task("f", x=make_reference("a", "/id")))
    assert ids(found) == ["a", "b", "e", "c", "f"]
    kept, changed, added, removed = ["a", "b", "e"], ["c"], ["f"], ["d"]
    assert found.effects == {"kept": kept, "changed": changed, "added": added, "removed": removed}


def test_a_replan_may_repeat_a_begun_task_unchanged():
    found = merged(*dump(OLD)["tasks"])
    assert found.kept == ("a", "b", "e", "c", "d")
    assert (found.changed, found.added, found.removed) == ((), (), ())


@pytest.mark.parametrize("done", ["a", "b", "e"])
def test_a_replan_cannot_change_a_begun_task(done):
    rows = [one | {"timeout_s": 9} if one["id"] == done else one for one in dump(OLD)["tasks"]]
    with pytest.raises(InvalidWorkflow, match="cannot be changed") as caught:
        merged(*rows)
    assert caught.value.problems[0].path == f"/tasks/{'abcde'.index(done)}"


def test_a_replan_can_change_a_task_that_waits_for_approval():
    done = DONE | {"c": TaskStatus.WAITING_APPROVAL}
    found = merged(task("c", "b", x=2), done=done)
    assert found.changed == ("c",)
    assert merged(task("f"), done=done).removed == ("c", "d")


def test_an_omitted_task_that_had_not_begun_cannot_be_referenced():
    done = DONE | {"c": TaskStatus.WAITING_APPROVAL}
    with pytest.raises(InvalidWorkflow, match="refers to 'c', which is not a task"):
        merged(task("f", x=make_reference("c", "")), done=done)


def test_a_replan_keeps_tasks_with_unknown_outcome():
    done = DONE | {"b": TaskStatus.UNKNOWN}
    assert merged(task("f"), done=done).kept == ("a", "b", "e")


def test_a_replan_removes_an_omitted_skipped_task():
    done = DONE | {"b": TaskStatus.FAILED, "c": TaskStatus.SKIPPED}
    again = task("c", "b", x=make_reference("a", "/id"))
    assert "c" in merged(task("f"), done=done).removed
    assert "c" in merged(again, task("f"), done=done).kept
    with pytest.raises(InvalidWorkflow, match="'c' is already skipped"):
        merged(again | {"arguments": {}}, done=done)


def test_a_replan_keeps_a_skipped_task_that_a_finished_task_depended_on():
    done = dict.fromkeys("abe", TaskStatus.SUCCEEDED)
    done |= {"c": TaskStatus.SKIPPED, "d": TaskStatus.SUCCEEDED}
    found = merged(task("f"), done=done)
    assert ids(found) == ["a", "b", "c", "d", "e", "f"]


def test_kept_and_new_tasks_together_respect_the_limits():
    rows = [task(f"n{one}") for one in range(998)]
    with pytest.raises(InvalidWorkflow, match="1,001 tasks"):
        merged(*rows)


def test_integer_and_equal_float_are_the_same_argument():
    old = workflow(task("a", x=1))
    found = merge_workflows(old, workflow(task("a", x=1.0)), {"a": TaskStatus.SUCCEEDED})
    assert found.kept == ("a",)


@drawn_from(drawn(), drawn(), st.sets(st.integers(0, 7)))
def test_the_merged_workflow_is_valid_and_keeps_all_begun_tasks(one, other, begun):
    old = parse(one)
    order = [task.id for task in old.tasks]
    done = {}
    for place in sorted(begun):  # what has begun waited only for what has
        row = old.by_id[order[place % len(order)]]
        if all(done.get(wanted) is TaskStatus.SUCCEEDED for wanted in row.waits_for):
            done[row.id] = TaskStatus.SUCCEEDED
    rows = [row for row in other["tasks"] if row["id"] not in done]
    try:
        new = parse({"tasks": rows}, known=done)
    except InvalidWorkflow:
        return
    found = merge_workflows(old, new, done)
    assert set(ids(found)) == done.keys() | {row["id"] for row in rows}
    assert done.keys() <= set(found.kept)
    assert {*found.kept, *found.changed, *found.added} == set(ids(found))
    assert {*found.kept, *found.changed, *found.removed} == set(order)
    assert dump(parse(dump(found.workflow))) == dump(found.workflow)
