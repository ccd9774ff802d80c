"""All tools of a server, whatever it lists."""

from typing import Any

import pytest

from tools.upstream.limits import UpstreamLimits
from tools.upstream.listing import MAX_PROBLEMS, ToolListing, gather_items, gather_tools


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


async def gather(pages: dict[str | None, Any], **limits: int) -> ToolListing:
    asked = []

    async def page(cursor: str | None) -> dict[str, Any]:
        asked.append(cursor)
        return pages[cursor]

    listing = await gather_tools(page, limits=UpstreamLimits(**limits))
    assert len(asked) <= limits.get("max_list_pages", 100)
    return listing


def names(listing: ToolListing) -> list[str]:
    return [each.name for each in listing.tools]


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
    assert len(listing.tools) == 2
    assert listing.tools[0].name == "a"
    assert [each.name for each in listing.tools[1:]] == ["b"]


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
    listing = await gather({None: page}, max_listed_items=5)
    assert names(listing) == ["0", "1", "2", "3", "4"]
    assert not listing.complete
    assert "more than 5 tools" in listing.problems[0]


async def test_of_two_tools_with_one_name_the_first_counts():
    listing = await gather(
        {None: {"tools": [tool("a", description="1"), tool("b"), tool("a", description="2")]}}
    )
    assert names(listing) == ["a", "b"]
    assert listing.tools[0].description == "1"
    assert listing.complete
    assert listing.problems == ("tool 'a' is listed more than once; the first counts",)


@pytest.mark.parametrize("cursor", ["", "x"])
async def test_a_server_that_reads_no_cursors_has_one_page(cursor):
    page = {"tools": [tool("a"), tool("b")], "nextCursor": cursor}
    listing = await gather({None: page, cursor: {**page}})
    assert (names(listing), listing.complete, listing.problems) == (["a", "b"], True, ())


@pytest.mark.parametrize(
    ("odd", "ignored"),
    [
        ({"annotations": [], "_meta": []}, "annotations: "),
        ({"icons": [{"url": "x"}]}, "icons.0.src: field required"),
        ({"execution": {"taskSupport": "sometimes"}}, "execution.taskSupport: "),
        ({"outputSchema": True, "description": ["a"]}, "description: "),
    ],
)
async def test_a_malformed_optional_part_costs_no_tool(odd, ignored):
    listing = await gather({None: {"tools": [tool("a", title="A", **odd)]}})
    assert listing.tools[0].title == "A"
    assert not listing.tools[0].extras.keys() & {"icons", "_meta"}
    assert listing.tools[0].output_schema is None
    assert listing.problems[0].startswith(f"tool 'a': {ignored}")
    assert listing.problems[0].endswith("; that is ignored")


async def test_of_annotations_only_what_is_malformed_is_ignored():
    hints = {"title": 7, "destructiveHint": True, "readOnlyHint": "maybe"}
    listing = await gather({None: {"tools": [tool("a", annotations=hints)]}})
    assert listing.tools[0].annotations == {"destructiveHint": True}


@pytest.mark.parametrize(
    ("listed", "title", "annotations"),
    [
        ({}, "", {}),
        ({"title": "A"}, "A", {}),
        ({"annotations": {"title": "B"}}, "B", {"title": "B"}),
        ({"title": "A", "annotations": {"title": "B"}}, "A", {"title": "B"}),
        ({"annotations": {"readOnlyHint": True}}, "", {"readOnlyHint": True}),
    ],
)
async def test_a_tool_s_title_may_stand_among_its_hints(listed, title, annotations):
    (said,) = (await gather({None: {"tools": [tool("a", **listed)]}})).tools
    assert (said.title, said.annotations, said.description) == (title, annotations, "")


@pytest.mark.parametrize("schema", [{}, {"inputSchema": None}, {"inputSchema": []}])
async def test_a_tool_without_a_schema_takes_any_arguments(schema):
    listing = await gather({None: {"tools": [{"name": "a", **schema}]}})
    assert listing.tools[0].input_schema == {"type": "object"}


async def test_a_malformed_tool_is_left_out_alone():
    bad = {"name": "b", "inputSchema": 7}
    listing = await gather({None: {"tools": [tool("a"), bad, 7, {"inputSchema": {}}]}})
    assert names(listing) == ["a"]
    assert listing.complete
    assert listing.problems[0].startswith("tool 'b' is left out: inputSchema: input should be")
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


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"inputSchema": deep(10_000)}, "it is nested deeper than 128 levels"),
        ({"outputSchema": deep(200)}, "it is nested deeper than 128 levels"),
        ({"description": "x" * 5_000_000}, "it has more than 1,048,576 bytes"),
        ({"inputSchema": {"enum": list(range(500_000))}}, "it has more than 1,048,576 bytes"),
        (
            {"inputSchema": {"properties": {"a": {"$ref": "http://canary/x"}}}},
            "the schema refers to 'http://canary/x', which is not in it",
        ),
        (
            {"outputSchema": {"allOf": [{"$dynamicRef": "file:///etc/passwd"}]}},
            "the schema refers to 'file:///etc/passwd', which is not in it",
        ),
    ],
)
async def test_a_tool_out_of_bounds_is_left_out_alone_with_the_reason(bad, problem):
    listing = await gather({None: {"tools": [tool("a"), tool("bad", **bad), tool("c")]}})
    assert names(listing) == ["a", "c"]
    assert listing.complete
    assert listing.omitted == {"bad"}
    (said,) = listing.problems
    assert said.startswith("tool 'bad' is left out: ")
    assert problem in said


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"$ref": {"type": "string"}}, "type": "object"},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
        {"properties": {"a": {"default": {"$ref": "http://x/"}}}},
        {"properties": {"a": {"$ref": "other"}}, "$defs": {"b": {"$id": "other"}}},
    ],
)
async def test_a_reference_within_the_schema_and_what_only_looks_like_one_are_no_matter(schema):
    listing = await gather({None: {"tools": [tool("a", inputSchema=schema)]}})
    assert names(listing) == ["a"]


async def test_over_http_a_tool_whose_headers_are_invalid_is_left_out():
    bad = {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
    page = {"tools": [tool("a", inputSchema=bad), tool("b")]}
    assert names(await gather({None: page})) == ["a", "b"]

    async def fetch(cursor: str | None) -> dict[str, Any]:
        return page

    listing = await gather_tools(fetch, limits=UpstreamLimits(), over_http=True)
    assert names(listing) == ["b"]
    assert "cannot be sent as headers" in listing.problems[0]


async def test_a_listing_larger_than_it_may_be_is_cut():
    pages = {
        None if n == 0 else str(n): {"tools": [tool(f"t{n}")], "nextCursor": str(n + 1)}
        for n in range(9)
    }
    listing = await gather(pages, max_listing_bytes=100)
    assert 1 < len(listing.tools) < 9
    assert not listing.complete
    assert "more than 100 bytes" in listing.problems[0]


async def test_of_many_problems_some_are_told():
    listing = await gather({None: {"tools": [7] * 1_000}})
    assert len(listing.problems) == MAX_PROBLEMS


@pytest.mark.parametrize(
    ("ttls", "expected"), [([None], None), ([5_000, 3_000], 3.0), ([-1], 0.0), (["x"], None)]
)
async def test_a_listing_is_believed_as_long_as_its_shortest_page(ttls, expected):
    pages: dict[str | None, Any] = {}
    for number, ttl in enumerate(ttls):
        more = {"nextCursor": str(number + 1)} if number + 1 < len(ttls) else {}
        pages[str(number) if number else None] = {"tools": [], "ttlMs": ttl, **more}
    assert (await gather(pages)).ttl_s == expected


async def test_other_things_than_tools_are_kept_as_they_came():
    resource = {"uri": "x:/", "name": "n", "size": None, "extra": [1]}

    async def page(cursor: str | None) -> dict[str, Any]:
        return {"resources": [resource, {"uri": "x:/2"}, resource, deep(500)]}

    listing = await gather_items(page, "resources", limits=UpstreamLimits())
    assert listing.items == (resource,)
    assert listing.complete
    assert listing.problems == (
        "resource 'x:/2' is left out: name: text is required",
        "resource 'x:/' is listed more than once; the first counts",
        "a resource without a name is left out: it is nested deeper than 128 levels",
    )


async def test_what_the_sdk_does_not_know_is_kept_too():
    icon = {"src": "https://a.example/a.png", "mimeType": "image/png", "odd": 1}
    more = {"_meta": {"anthropic/searchHint": "zebra"}, "icons": [icon], "x-odd": [1, None]}
    hints = {"readOnlyHint": True, "vendorHint": "v", "other": None}
    listing = await gather(
        {None: {"tools": [tool("a", annotations=hints, gone=None, **more), tool("b")]}}
    )
    first, second = listing.tools
    assert first.extras == {**more, "annotations": {"vendorHint": "v"}}
    assert second.extras == {}
    assert listing.problems == ()


async def test_metadata_out_of_bounds_is_ignored_the_icons_first():
    fits, large = {"src": "x" * 700}, {"src": "x" * 1_000}
    listing = await gather(
        {
            None: {
                "tools": [
                    tool("a", icons=[large], _meta={"a": 1}),
                    tool("b", icons=[fits], _meta={"a": "x" * 600}),
                    tool("c", _meta={"a": float("nan")}, icons=[fits]),
                ]
            }
        },
        max_extras_bytes=1_000,
    )
    assert [sorted(each.extras) for each in listing.tools] == [["_meta"], ["_meta"], ["icons"]]
    assert listing.problems[0] == (
        "tool 'a': icons: with it there is more than 1,000 bytes of metadata; that is ignored"
    )
    assert listing.problems[2].startswith("tool 'c': _meta: ")
