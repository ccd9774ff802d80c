"""What the demonstration takes for a failure, and what not."""

from types import SimpleNamespace

import pytest
from rich.console import Console

from gateway_project import demonstration
from gateway_project.demonstration import Step
from gateway_project.management.commands import demo

FINE = {"intents": 4, "found": 4, "outranked": 0, "called": 4, "suggested": 3, "ran": True}
STEP = Step(intent="what time is it?", tool="time:get_current_time")


class Client:
    """A client whose searches find one tool, and whose calls succeed."""

    def __init__(self, found):
        self.found = found

    async def call_tool(self, name, arguments):
        del name, arguments
        hit = {"tool": self.found, "role": "match", "score": 1.0, "reasons": [], "warnings": []}
        content = {"tools": [hit], "tokens": {"used": 7}}
        return SimpleNamespace(structured_content=content, is_error=False, content=[])


@pytest.mark.parametrize(
    ("found", "is_found", "outranked"),
    [
        ("time:get_current_time", True, False),
        ("calendar:now", False, True),
        ("time:convert_time", False, False),
    ],
)
async def test_tools_of_other_servers_that_fit_better_are_told_from_a_search_that_fails(
    found, is_found, outranked
):
    console = Console(quiet=True)
    outcome = await demonstration._try(console, Client(found), STEP, own={"time", "git"})
    assert (outcome.found, outcome.outranked, outcome.called) == (is_found, outranked, True)


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({}, False),
        ({"found": 2, "outranked": 2}, False),
        ({"found": 2}, True),
        ({"called": 3}, True),
        ({"suggested": 0}, True),
        ({"ran": False}, True),
    ],
)
def test_only_what_did_not_work_is_a_failure(changed, failed):
    assert demo._has_failed({**FINE, **changed}) is failed


def test_a_person_whose_servers_fit_better_is_told_how_to_see_it_by_itself():
    said = demo.OUTRANKED.format(**FINE | {"outranked": 2})
    assert "For 2 of 4 intents" in said
    assert "FOREGATE_HOME=" in said
