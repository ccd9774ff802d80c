"""All tools of a server, whatever it lists."""

from typing import Any

import pytest

from tools.upstream.limits import Limits
from tools.upstream.listing import ToolListing, gather_tools


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


async def gather(pages: dict[str | None, Any], **limits: int) -> ToolListing:
    asked = []

    async def page(cursor: str | None) -> dict[str, Any]:
        asked.append(cursor)
        return pages[cursor]

    listing = await gather_tools(page, limits=Limits(**limits))
    assert len(asked) <= limits.get("max_list_pages", 100)
    return listing


def names(listing: ToolListing) -> list[str]:
    return [each.name for each in listing]


async def test_all_pages_are_gathered_in_order():
    listing = await gather(
        {
            None: {"tools": [tool("a")], "nextCursor": "2"},
            "2": {"tools": [tool("b")], "nextCursor": ""},
            "": {"tools": [tool("c")]},
        }
    )
    assert names(listing) == ["a", "b", "c"]
    assert listing.complete
    assert listing.problems == ()


async def test_a_listing_is_the_sequence_of_its_tools():
    listing = await gather({None: {"tools": [tool("a"), tool("b")]}})
    assert len(listing) == 2
    assert listing[0].name == "a"
    assert [each.name for each in listing[1:]] == ["b"]


async def test_a_cursor_that_comes_back_ends_the_listing_as_incomplete():
    listing = await gather(
        {
            None: {"tools": [tool("a")], "nextCursor": "1"},
            "1": {"tools": [tool("b")], "nextCursor": "2"},
            "2": {"tools": [tool("c")], "nextCursor": "1"},
        }
    )
    assert names(listing) == ["a", "b", "c"]
    assert not listing.complete
    assert "repeats a cursor" in listing.problems[0]


async def test_too_many_pages_end_the_listing_as_incomplete():
    pages = {
        None if n == 0 else str(n): {"tools": [tool(f"t{n}")], "nextCursor": str(n + 1)}
        for n in range(9)
    }
    listing = await gather(pages, max_list_pages=3)
    assert names(listing) == ["t0", "t1", "t2"]
    assert not listing.complete
    assert "more than 3 pages" in listing.problems[0]


async def test_too_many_tools_end_the_listing_as_incomplete():
    page = {"tools": [tool(str(n)) for n in range(9)], "nextCursor": "never asked for"}
    listing = await gather({None: page}, max_tools=5)
    assert names(listing) == ["0", "1", "2", "3", "4"]
    assert not listing.complete
    assert "more than 5 tools" in listing.problems[0]


async def test_of_two_tools_with_one_name_the_first_counts():
    listing = await gather(
        {None: {"tools": [tool("a", description="1"), tool("b"), tool("a", description="2")]}}
    )
    assert names(listing) == ["a", "b"]
    assert listing[0].description == "1"
    assert listing.complete
    assert listing.problems == ("tool 'a' is listed more than once; the first counts",)


async def test_a_malformed_tool_is_left_out_alone():
    listing = await gather({None: {"tools": [tool("a"), {"name": "b"}, 7, {"inputSchema": {}}]}})
    assert names(listing) == ["a"]
    assert listing.complete
    assert listing.problems[0] == "tool 'b' is left out: inputSchema: field required"
    assert all(problem.startswith("a tool without a name") for problem in listing.problems[1:])


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ({}, "no list of tools"),
        ({"tools": {}}, "no list of tools"),
        ({"tools": [], "nextCursor": 5}, "cursor of the list of tools is not text"),
    ],
)
async def test_a_malformed_page_ends_the_listing_as_incomplete(page, problem):
    listing = await gather({None: page})
    assert not listing.complete
    assert problem in listing.problems[0]
