"""A run as a person reads it on a terminal."""

from typing import Any

from rich.console import Console

from execution.status import TaskStatus
from gateway_project.run_face import table
from gateway_project.run_face import timeline as run_timeline
from tests.gateway.run_views import task, view


def read(answer: dict[str, Any], calls: run_timeline.Timeline) -> str:
    console = Console(width=200)
    empty = {"run_id": "r", "status": "waiting", "results": {}, "errors": {}}
    with console.capture() as capture:
        for part in table.shown({**empty, "pending_approvals": []} | answer, calls):
            console.print(part)
    return capture.get()


def asked(**values: Any) -> dict[str, Any]:
    return {"id": "1", "task": "a", "tool": "s:a", "reason": "it deletes", **values}


def test_items_that_wait_can_be_told_apart():
    calls = [asked(item=0), asked(item=1), asked(task="b")]
    shown = read({"pending_approvals": calls}, run_timeline.Timeline(spans=()))
    for label in ("a[0]", "a[1]", "b"):
        assert f"{label} waits for approval of s:a" in shown


def test_the_name_of_a_tool_hides_nothing():
    calls = [asked(tool="s:\u202ea")]
    assert "\u202e" not in read({"pending_approvals": calls}, run_timeline.Timeline(spans=()))


def test_nobody_is_told_how_long_a_lost_call_took():
    lost = task("b", TaskStatus.UNKNOWN, span=(0, 90_000))
    shown = read({}, run_timeline.timeline(view(task("a", span=(0, 40)), lost)))
    assert "40 ms" in shown
    assert "90,000" not in shown
    assert "speed-up" not in shown
