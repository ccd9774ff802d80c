"""A run as pictures."""

from execution.status import TaskStatus
from gateway_project.console.rooms import approvals, runs
from gateway_project.runs.timeline import build_timeline
from tests.gateway.run_views import task, text, view

WORKFLOW = {
    "tasks": [
        {"id": "a", "tool": "s:a"},
        {"id": "b", "tool": "s:b\u202e", "arguments": {"x": {"$ref": "a", "pointer": ""}}},
        {"id": "c", "tool": "s:c", "depends_on": ["b"]},
    ]
}


def test_edges_follow_dependencies_and_references():
    drawn = runs.draw_graph(view(task("a"), workflow=WORKFLOW))
    assert drawn["edges"] == [
        {"source": "a", "target": "b"},
        {"source": "b", "target": "c"},
    ]


def test_nodes_have_the_state_of_their_task_and_no_hidden_characters():
    shown = view(task("a"), task("b", TaskStatus.RUNNING), workflow=WORKFLOW)
    drawn = runs.draw_graph(shown)
    assert [node["status"] for node in drawn["nodes"]] == ["succeeded", "running", "pending"]
    assert drawn["nodes"][1]["tool"] == "s:b\\u202e"


def test_a_new_workflow_may_build_on_tasks_of_the_old_one():
    later = {
        "tasks": [{"id": "d", "tool": "s:d", "arguments": {"x": {"$ref": "a", "pointer": ""}}}]
    }
    drawn = runs.draw_graph(view(task("a"), task("d"), workflow=later))
    assert (len(drawn["nodes"]), drawn["edges"]) == (1, [])


def test_nothing_is_drawn_of_an_expired_or_a_huge_workflow(monkeypatch):
    assert runs.draw_graph(view(task("a"))) is None
    monkeypatch.setattr(runs, "MAX_NODES", 2)
    assert runs.draw_graph(view(task("a"), workflow=WORKFLOW)) is None


def test_bars_are_shares_of_the_whole_time_and_can_be_seen():
    shown = view(
        task("a", span=(0, 1_000), result=text("x")),
        task("b", span=(1_000, 1_001)),
        task("u", TaskStatus.UNKNOWN, span=(0, 500)),
    )
    bars = runs.draw_timeline(build_timeline(shown))
    assert [bar["key"] for bar in bars] == ["a", "b", "u"]
    assert bars[1]["width"] == runs.MIN_WIDTH
    assert bars[0]["width"] > 99
    assert bars[2]["duration_ms"] is None


def test_a_boolean_is_not_taken_for_a_number():
    (change,) = approvals.compare_arguments({"force": 1}, {"force": True})
    assert (change["kind"], change["before"], change["after"]) == ("changed", "1", "true")


def test_long_values_and_hidden_characters_cannot_hide_a_change():
    long = "a" * 1_000
    (change,) = approvals.compare_arguments({"x": long}, {"x": long + "\u202e"})
    assert change["kind"] == "changed"
    (change,) = approvals.compare_arguments({}, {"x\u202e": 1})
    assert change["name"] == "x\\u202e"
