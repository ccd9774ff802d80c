import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.running.schedule import Schedule
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError, RunOptions, Workflow, WorkflowTask

FAILED, SKIPPED, SUCCEEDED = TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.SUCCEEDED


def schedule(waits, statuses=None, **options):
    tasks = tuple(
        WorkflowTask(id=task, tool=f"s:{task}", depends_on=tuple(before))
        for task, before in waits.items()
    )
    made = Schedule(Workflow(tasks=tasks), RunOptions(**options), statuses or {})
    return made, made.catch_up()


@st.composite
def dags(draw):
    names = [f"t{place}" for place in range(draw(st.integers(1, 12)))]
    return {
        name: draw(st.lists(st.sampled_from(names[:place]), unique=True)) if place else []
        for place, name in enumerate(names)
    }


@given(dags(), st.randoms())
def test_each_task_becomes_ready_once_when_its_last_dependency_ends(waits, random):
    made, _ = schedule(waits)
    graph = networkx.DiGraph([(one, task) for task, before in waits.items() for one in before])
    graph.add_nodes_from(waits)
    ready, ended, order = made.take_ready(), set(), []
    while ready:
        assert set(ready) == {
            task for task in waits if task not in ended and set(graph.predecessors(task)) <= ended
        }
        task = ready.pop(random.randrange(len(ready)))
        made.set_status(task, TaskStatus.RUNNING)
        assert made.end_task(task, SUCCEEDED) == []
        ended.add(task)
        order.append(task)
        ready += made.take_ready()
    assert sorted(order) == sorted(waits)
    assert made.is_settled
    assert made.derive_final_status() is RunStatus.SUCCEEDED


@given(dags(), st.data())
def test_a_failure_skips_exactly_its_dependents(waits, data):
    made, _ = schedule(waits, on_error=OnError.CONTINUE)
    graph = networkx.DiGraph([(one, task) for task, before in waits.items() for one in before])
    graph.add_nodes_from(waits)
    bad = data.draw(st.sampled_from(sorted(waits)))
    ready = made.take_ready()
    while ready:
        task = ready.pop()
        made.end_task(task, FAILED if task == bad else SUCCEEDED)
        ready += made.take_ready()
    skipped = {task for task, status in made.statuses.items() if status is SKIPPED}
    assert skipped == networkx.descendants(graph, bad)
    assert made.is_settled


@pytest.mark.parametrize(("done", "opened"), [({}, 1), ({"a": SUCCEEDED, "b": SUCCEEDED}, 1)])
def test_by_layers_tasks_wait_for_theirs_to_be_opened(done, opened):
    waits = {"a": [], "b": [], "c": ["a"], "d": ["c"]}
    made, _ = schedule(waits, done, per_layer_validation=True)
    for task in made.take_ready():
        made.end_task(task, SUCCEEDED)
    assert made.is_layer_complete
    assert (made.current_layer, made.layer_count) == (opened, 3)
    assert made.take_ready() == []
    made.open_next_layer()
    assert made.take_ready() == ["c"]
    made.end_task("c", SUCCEEDED)
    made.open_next_layer()
    made.end_task(*made.take_ready(), SUCCEEDED)
    assert not made.is_layer_complete
