from __future__ import annotations

from dataclasses import replace

import pytest

from graph.suggestion.binding.instances import count_instances
from graph.suggestion.binding.tasks import SuggestedTask
from tests.graph.suggestion.binding.tools import stating, steps, text, tool
from tests.stated import read_stated

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
    assert count_instances(steps(CLOCK), text=intent, read=read_stated) == {"t0": count}


def test_a_tool_that_takes_a_list_occurs_once() -> None:
    pack = tool({"files": FILES, "name": text("File")}, required=["files", "name"])
    asked = count_instances(steps(pack), text="zip files a.txt, b.txt and c.txt", read=read_stated)
    assert asked == {"t0": 1}


def test_two_parameters_that_share_two_values_are_one_task() -> None:
    route = tool({"start": CITY, "end": CITY}, required=["start", "end"], name="route")
    assert count_instances(
        steps(route), text="the way between Rome and Oslo", read=read_stated
    ) == {"t0": 1}


def test_a_tool_that_already_occurs_several_times_is_not_repeated() -> None:
    asked = count_instances(
        steps(CLOCK, CLOCK), text="time in Tokyo and in Paris", read=read_stated
    )
    assert asked == {"t0": 1, "t1": 1}


def asked(intent: str, *made: SuggestedTask) -> list[int]:
    return list(count_instances(made, text=intent, read=read_stated).values())


def test_a_tool_that_writes_does_not_write_twice_to_one_file() -> None:
    fields = {"path": text("Path of the file"), "content": text()}
    write = tool(fields, required=["path", "content"], name="write_file")
    assert asked("Save 'one' and 'two' in /srv/q.txt", *steps(write)) == [1]


def test_a_tool_that_cannot_run_does_not_keep_values_from_another() -> None:
    zone = text("IANA timezone name (e.g., 'America/New_York', 'Europe/London')")
    now = tool({"timezone": zone}, required=["timezone"], name="get_current_time")
    fields = {"source_timezone": zone, "time": text("HH:MM"), "target_timezone": zone}
    convert = tool(fields, required=list(fields), name="convert_time")
    known = [replace(one, is_read_only=True) for one in (now, convert)]
    made = [SuggestedTask(id=one.name, tool=one) for one in known]
    zones = {name: ["Tokyo", "Paris"] for name in ("timezone", "source_timezone")}
    for intent, counts in (
        ("what time is it in Tokyo and in Paris?", {"get_current_time": 2, "convert_time": 1}),
        ("at 16:00 in Tokyo and in Paris", {"get_current_time": 1, "convert_time": 1}),
    ):
        read = stating(**zones, target_timezone=["Tokyo", "Paris"], time="16:00")
        assert count_instances(made, text=intent, read=read) == counts
