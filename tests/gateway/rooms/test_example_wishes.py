"""Wishes made from the descriptions of tools."""

import pytest

from gateway_project.console.rooms.example_wishes import make_wishes, write_wish
from tests.gateway.catalogues import tool
from tools.danger import Danger


@pytest.mark.parametrize(
    ("description", "wish"),
    [
        ("Get current time in a specific timezone", "Get current time in a specific timezone"),
        ("Read a file.\n\nArgs:\n  path: where", "Read a file"),
        ("query the e.g. tables; careful", "Query the e.g. tables"),
        ("Lists files and folders - recursively", "List files and folders"),
        ("Issues are found", "Issues are found"),
        ("x" * 200, ""),
        ("", ""),
        ("\u202e\u200b", ""),
    ],
)
def test_a_description_becomes_a_wish_if_it_can(description, wish):
    assert write_wish(description) == wish


def test_each_server_has_one_wish_of_the_tool_that_reads_and_needs_least():
    wanted = {"required": ["a", "b"]}
    found = make_wishes(
        [
            tool("git:log", description="Shows the commits", input_schema=wanted),
            tool("git:status", description="Shows the working tree", danger=Danger.READ),
            tool("git:reset", description="Throw all changes away", danger=Danger.DESTRUCTIVE),
            tool("web:fetch", description="Fetches a page"),
        ]
    )
    assert found == [
        ("Show the working tree", "git"),
        ("Fetch a page", "web"),
        ("Show the working tree, then fetch a page", "git, web"),
    ]


def test_tools_that_cannot_be_called_or_hide_something_make_no_wish():
    assert not make_wishes(
        [
            tool("a:b", description="Reads the whole file", state="pending"),
            tool("a:c", description="Reads the whole file", findings=("hidden text",)),
        ]
    )
