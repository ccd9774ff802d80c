from __future__ import annotations

import pytest

from graph.binding.bind import Step
from graph.binding.instances import instances
from graph.intent import reading
from tests.graph.binding.tools import steps, text, tool

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
def test_a_tool_stands_as_often_as_values_are_listed(intent: str, count: int) -> None:
    assert instances(steps(CLOCK), reading=reading.read(intent)) == {"t0": count}


def test_a_tool_that_takes_a_list_stands_once() -> None:
    pack = tool({"files": FILES, "name": text("File")}, required=["files", "name"])
    asked = instances(steps(pack), reading=reading.read("zip files a.txt, b.txt and c.txt"))
    assert asked == {"t0": 1}


def test_two_parameters_that_share_two_values_are_one_task() -> None:
    route = tool({"start": CITY, "end": CITY}, required=["start", "end"], name="route")
    assert instances(steps(route), reading=reading.read("the way between Rome and Oslo")) == {
        "t0": 1
    }


def test_a_tool_that_stands_several_times_already_is_not_repeated() -> None:
    asked = instances(steps(CLOCK, CLOCK), reading=reading.read("time in Tokyo and in Paris"))
    assert asked == {"t0": 1, "t1": 1}


def asked(intent: str, *made: Step) -> list[int]:
    return list(instances(made, reading=reading.read(intent)).values())


def test_a_tool_that_writes_does_not_write_twice_to_one_file() -> None:
    fields = {"path": text("Path of the file"), "content": text()}
    write = tool(fields, required=["path", "content"], name="write_file")
    assert asked("Save 'one' and 'two' in /srv/q.txt", *steps(write)) == [1]


def test_a_tool_that_cannot_run_does_not_keep_values_from_another() -> None:
    zone = text("IANA timezone name (e.g., 'America/New_York', 'Europe/London')")
    now = tool({"timezone": zone}, required=["timezone"], name="get_current_time")
    fields = {"source_timezone": zone, "time": text("HH:MM"), "target_timezone": zone}
    convert = tool(fields, required=list(fields), name="convert_time")
    made = [Step(id=one.name, tool=one, is_read_only=True) for one in (now, convert)]
    assert asked("what time is it in Tokyo and in Paris?", *made) == [2, 1]
    assert asked("If it is 16:00 in New York, what time is it in London?", *made) == [1, 1]
