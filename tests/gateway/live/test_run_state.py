from dataclasses import replace

from execution.status import RunStatus
from gateway_project.live import run_feed
from tests.gateway.run_views import RUN, task, text, view


def test_a_state_holds_no_payloads():
    shown = view(task("a", result=text("secret"), error="secret"), intent="secret")
    assert "secret" not in str(
        [run_feed.describe_run(shown), run_feed.describe_tasks(shown, None)]
    )


def test_items_of_a_list_are_told_apart():
    shown = view(task("a", item=3))
    assert run_feed.describe_tasks(shown, None)[0]["item"] == 3


def test_tasks_that_a_new_workflow_lacks_are_named():
    before = view(task("a"), task("b"))
    after = replace(before, version=2, tasks=(task("a"), task("c")))
    assert run_feed.list_removed(after, before) == ["b"]
    assert run_feed.list_removed(before, before) == []


def test_tasks_past_the_limit_are_counted(monkeypatch):
    monkeypatch.setattr(run_feed, "MAX_TASKS", 1)
    shown = view(task("a"), task("b"))
    assert len(run_feed.describe_tasks(shown, None)) == 1
    assert run_feed.describe_run(shown)["more_tasks"] == 1


def test_what_no_eye_sees_is_stripped_from_names_of_tools():
    shown = view(replace(task("a"), tool="s:a\u202e"), status=RunStatus.RUNNING)
    assert shown.id == RUN
    assert run_feed.describe_tasks(shown, None)[0]["tool"] == "s:a"
