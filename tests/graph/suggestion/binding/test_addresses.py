"""Binding of files, folders, time zones and result counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.suggestion.binding.instances import count_instances
from graph.suggestion.binding.values import extract_values
from tests.graph.suggestion.binding.tools import arguments, bound, stating, steps, text, tool

ZONE = "IANA timezone name (e.g., 'America/New_York', 'Europe/London')"
NOW = tool({"timezone": text(ZONE)}, required=["timezone"], name="get_current_time")
CONVERT = tool(
    {
        "source_timezone": text(f"Source {ZONE}"),
        "time": text("Time to convert in 24-hour format (HH:MM)"),
        "target_timezone": text(f"Target {ZONE}"),
    },
    required=["source_timezone", "time", "target_timezone"],
    name="convert_time",
)
LOG = tool(
    {"repo_path": text(), "max_count": {"type": "integer", "default": 10}},
    required=["repo_path"],
    name="git_log",
)
ADD = tool(
    {"repo_path": text(), "files": {"type": "array", "items": {"type": "string"}}},
    required=["repo_path", "files"],
    name="git_add",
)
COMMIT = tool(
    {"repo_path": text(), "message": text()}, required=["repo_path", "message"], name="git_commit"
)


def test_time_zones_are_read_by_their_names() -> None:
    found = [one.text for one in extract_values("Europe/Paris or America/Argentina/Buenos_Aires")]
    assert found[:2] == ["Europe/Paris", "America/Argentina/Buenos_Aires"]


def test_a_name_does_not_take_half_of_a_day() -> None:
    names = [one.text for one in extract_values("a salon in Boston the 20th March")]
    assert "Boston" in names
    assert "Boston the 20" not in names


def test_a_city_stands_for_its_time_zone() -> None:
    read = stating(source_timezone="Tokyo", time="14:30", target_timezone="Berlin")
    assert arguments("convert 14:30 from Tokyo to Berlin", CONVERT, read=read) == [
        {"source_timezone": "Asia/Tokyo", "time": "14:30", "target_timezone": "Europe/Berlin"}
    ]


@pytest.mark.parametrize(
    "intent", ["what time is it in Tokyo and in Paris", "the time in Asia/Tokyo and Europe/Paris"]
)
def test_a_time_in_two_places_is_asked_for_twice(intent: str) -> None:
    read = stating(timezone=["Asia/Tokyo", "Europe/Paris", "Tokyo", "Paris"])
    assert count_instances(steps(NOW), text=intent, read=read) == {"t0": 2}
    zones = [one["timezone"] for one in arguments(intent, NOW, NOW, read=read)]
    assert zones == ["Asia/Tokyo", "Europe/Paris"]


@pytest.mark.parametrize("told", ["the last 3 commits", "the 3 latest commits"])
def test_a_result_count_is_bound_to_a_limit(told: str) -> None:
    assert arguments(f"show {told} of the repository /tmp/x", LOG) == [
        {"repo_path": "/tmp/x", "max_count": 3}  # noqa: S108 - a text
    ]


def test_a_message_may_contain_a_file_name_if_called_a_message() -> None:
    (commit,) = bound('commit in /tmp/repo with the message "notes.txt"', COMMIT)
    assert commit.arguments["message"] == "notes.txt"


def test_tools_of_a_server_share_a_folder_stated_once() -> None:
    intent = 'commit the file "notes.txt" in /tmp/repo with message "Add notes"'
    here = [replace(one, tool=f"git:{one.name}") for one in (ADD, COMMIT)]
    add, commit = bound(intent, *here)
    assert add.arguments == {"repo_path": "/tmp/repo", "files": ["notes.txt"]}  # noqa: S108
    assert commit.arguments == {"repo_path": "/tmp/repo", "message": "Add notes"}  # noqa: S108


def test_a_name_with_a_slash_is_one_value() -> None:
    branch = tool({"branch_name": text()}, required=["branch_name"], name="create_branch")
    assert arguments("create a branch feature/sign-in", branch) == [
        {"branch_name": "feature/sign-in"}
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "no whole number in the intent clearly belongs here"),
        ({"type": "boolean"}, "does not say yes or no"),
        ({"enum": ["asc", "desc"]}, "names none of its values (asc, desc)"),
        ({"type": "object"}, "pass it as a parameter"),
        ({"type": "array", "items": {"type": "object"}}, "a list of objects"),
    ],
)
def test_a_missing_argument_says_what_to_ask_for(schema: dict[str, object], expected: str) -> None:
    (step,) = bound("do it", tool({"level": schema}, required=["level"]))
    assert expected in step.needs_input[0].reason
