"""A run as a person reads it on a terminal."""

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from execution.status import TaskStatus
from gateway_project.runs import table
from gateway_project.runs import timeline as run_timeline
from tests.gateway.run_views import task, view


def read(answer: dict[str, Any], calls: run_timeline.Timeline) -> str:
    console = Console(width=200)
    empty = {"run_id": "r", "status": "waiting", "results": {}, "errors": {}}
    with console.capture() as capture:
        for part in table.render_run({**empty, "pending_approvals": []} | answer, calls):
            console.print(part)
    return capture.get()


def asked(**values: Any) -> dict[str, Any]:
    return {"id": "1", "task": "a", "tool": "s:a", "reason": "it deletes", **values}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("queued", "waits for a gateway, a console"),
        ("waiting", "has its decision and waits for a gateway, a console"),
        ("paused", "`manage.py control_run r resume` resumes it"),
    ],
)
def test_a_run_without_calls_shows_what_it_waits_for(status, words):
    shown = read({"status": status}, run_timeline.Timeline(spans=()))
    assert words in shown


def test_a_run_that_waits_for_approval_waits_for_nothing_else():
    shown = read({"pending_approvals": [asked(item=0)]}, run_timeline.Timeline(spans=()))
    assert "has its decision" not in shown


def test_pending_items_are_distinguishable():
    calls = [asked(item=0), asked(item=1), asked(task="b")]
    shown = read({"pending_approvals": calls}, run_timeline.Timeline(spans=()))
    for label in ("a[0]", "a[1]", "b"):
        assert f"{label} waits for approval of s:a" in shown


def test_the_name_of_a_tool_hides_nothing():
    calls = [asked(tool="s:\u202ea")]
    assert r"s:\u202ea" in read({"pending_approvals": calls}, run_timeline.Timeline(spans=()))
    hidden = replace(task("b", span=(0, 40)), tool="s:\u200bb")
    assert r"s:\u200bb" in read({}, run_timeline.build_timeline(view(hidden)))


def test_the_duration_of_a_lost_call_is_not_reported():
    lost = task("b", TaskStatus.UNKNOWN, span=(0, 90_000))
    shown = read({}, run_timeline.build_timeline(view(task("a", span=(0, 40)), lost)))
    assert "40 ms" in shown
    assert "90,000" not in shown
    assert "speed-up" not in shown
