from __future__ import annotations

import pytest

from graph.suggestion.binding.instances import count_instances
from graph.suggestion.binding.steps import BindingStep
from graph.suggestion.intent import reading
from tests.graph.suggestion.binding.tools import steps, text, tool

CITY = text("City to get the time of")
CLOCK = tool({"city": CITY}, required=["city"], name="get_time")
FILES = {"type": "array", "items": {"type": "string"}, "description": "Files to put in"}


@pytest.mark.parametrize(
    ("intent", "count"),
    [
        ("what time is it in Tokyo and in Paris", 2),
        ("what time is it in Tokyo, Paris and Rome", 3),
        ("what time is it in Tokyo", 1),
        ("what time is it in Tokyo, Japan", 1),
        ("what time is it in Tokyo or Paris", 1),
        ("what time is it", 1),
        ("?", 1),
    ],
)
def test_a_tool_occurs_once_per_listed_value(intent: str, count: int) -> None:
    assert count_instances(steps(CLOCK), reading=reading.read_intent(intent)) == {"t0": count}


def test_a_tool_that_takes_a_list_occurs_once() -> None:
    pack = tool({"files": FILES, "name": text("File")}, required=["files", "name"])
    asked = count_instances(
        steps(pack), reading=reading.read_intent("zip files a.txt, b.txt and c.txt")
    )
    assert asked == {"t0": 1}


def test_two_parameters_that_share_two_values_are_one_task() -> None:
    route = tool({"start": CITY, "end": CITY}, required=["start", "end"], name="route")
    assert count_instances(
        steps(route), reading=reading.read_intent("the way between Rome and Oslo")
    ) == {"t0": 1}


def test_a_tool_that_already_occurs_several_times_is_not_repeated() -> None:
    asked = count_instances(
        steps(CLOCK, CLOCK), reading=reading.read_intent("time in Tokyo and in Paris")
    )
    assert asked == {"t0": 1, "t1": 1}


def asked(intent: str, *made: BindingStep) -> list[int]:
    return list(count_instances(made, reading=reading.read_intent(intent)).values())


def test_a_tool_that_writes_does_not_write_twice_to_one_file() -> None:
    fields = {"path": text("Path of the file"), "content": text()}
    write = tool(fields, required=["path", "content"], name="write_file")
    assert asked("Save 'one' and 'two' in /srv/q.txt", *steps(write)) == [1]


def test_a_tool_that_cannot_run_does_not_keep_values_from_another() -> None:
    zone = text("IANA timezone name (e.g., 'America/New_York', 'Europe/London')")
    now = tool({"timezone": zone}, required=["timezone"], name="get_current_time")
    fields = {"source_timezone": zone, "time": text("HH:MM"), "target_timezone": zone}
    convert = tool(fields, required=list(fields), name="convert_time")
    made = [BindingStep(id=one.name, tool=one, is_read_only=True) for one in (now, convert)]
    assert asked("what time is it in Tokyo and in Paris?", *made) == [2, 1]
    assert asked("If it is 16:00 in New York, what time is it in London?", *made) == [1, 1]
