from dataclasses import replace

from execution.status import RunStatus, TaskStatus
from gateway_project.live import run_state
from tests.gateway.run_views import RUN, task, text, view


def test_a_state_holds_no_payloads():
    shown = view(task("a", result=text("secret"), error="secret"), intent="secret")
    assert "secret" not in str(
        [run_state.describe_run(shown), run_state.describe_tasks(shown, None)]
    )


def test_all_tasks_are_described_without_an_earlier_view():
    shown = view(task("a"), task("b", TaskStatus.RUNNING))
    assert [row["task"] for row in run_state.describe_tasks(shown, None)] == ["a", "b"]


def test_only_tasks_that_changed_are_described_afterwards():
    before = view(task("a"), task("b", TaskStatus.RUNNING))
    after = replace(before, tasks=(before.tasks[0], task("b")))
    assert [row["status"] for row in run_state.describe_tasks(after, before)] == ["succeeded"]


def test_items_of_a_list_are_told_apart():
    shown = view(task("a", item=3))
    assert run_state.describe_tasks(shown, None)[0]["item"] == 3


def test_tasks_that_a_new_workflow_lacks_are_named():
    before = view(task("a"), task("b"))
    after = replace(before, version=2, tasks=(task("a"), task("c")))
    assert run_state.list_removed(after, before) == ["b"]
    assert run_state.list_removed(before, before) == []


def test_tasks_past_the_limit_are_counted(monkeypatch):
    monkeypatch.setattr(run_state, "MAX_TASKS", 1)
    shown = view(task("a"), task("b"))
    assert len(run_state.describe_tasks(shown, None)) == 1
    assert run_state.describe_run(shown)["more_tasks"] == 1


def test_what_no_eye_sees_is_stripped_from_names_of_tools():
    shown = view(replace(task("a"), tool="s:a\u202e"), status=RunStatus.RUNNING)
    assert shown.id == RUN
    assert run_state.describe_tasks(shown, None)[0]["tool"] == "s:a"
