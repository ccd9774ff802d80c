from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.data_flow import derive, observed
from graph.output_shape import describe_shape, merge_shapes
from tests.gateway.catalogues import tool
from tests.graph.data_flow.flow_tools import listing, schema

WIDGETS = listing(widget_id={"type": "string"})
PAIR = {"output": "/items/*/widget_id", "input": "/widget_id"}
OURS, THEIRS = 1, 2


def named(tool_id, pk, **values):
    return tool(tool_id, pk=pk, definition_hash=f"hash {pk}", **values)


@pytest.fixture
def tools():
    return [
        named("shop:report", 1),
        named("shop:paint", 2, input_schema=schema("widget_id")),
    ]


def told(tools, shapes):
    return observed.derive_for_team(tools, shapes, observed.derive_shared(tools, shapes))


def keys(claims):
    return {(claim.source, claim.target) for claim in claims}


def test_shapes_a_team_saw_of_a_shared_tool_relate_it_for_that_team_only(tools):
    shapes = {(1, OURS): WIDGETS}
    assert observed.derive_shared(tools, shapes) == []
    found = told(tools, shapes)
    assert found.keys() == {OURS}
    (claim,) = found[OURS]
    assert (claim.source, claim.target, claim.fields) == (1, 2, (PAIR,))
    assert 0.2 <= claim.confidence <= 1.0


def test_relations_known_to_everybody_are_not_repeated_for_a_team(tools):
    shapes = {(1, None): WIDGETS, (1, OURS): WIDGETS}
    assert keys(observed.derive_shared(tools, shapes)) == {(1, 2)}
    assert told(tools, shapes) == {}


def test_shapes_of_a_teams_own_tools_are_shared_with_all_who_see_them(tools):
    own = [replace(tool, team=OURS) for tool in tools]
    shapes = {(1, OURS): WIDGETS}
    assert keys(observed.derive_shared(own, shapes)) == {(1, 2)}
    assert told(own, shapes) == {}


def test_a_team_gets_no_relations_of_invisible_tools(tools):
    codes = listing(widget_code={"type": "string"})
    shop = [tools[0], replace(tools[1], input_schema=schema("widget_code"))]
    private = named("den:polish", 3, input_schema=schema("widget_code"), team=THEIRS)
    shapes = {(1, OURS): codes, (3, OURS): codes}
    assert keys(told([*shop, private], shapes)[OURS]) == {(1, 2)}
    shapes = {(1, THEIRS): codes}
    assert keys(told([*shop, private], shapes)[THEIRS]) == {(1, 2), (1, 3)}


def test_a_field_of_only_some_results_is_not_shared(tools):
    first, second = (
        describe_shape({"structuredContent": {"count": 1, name: "x"}})
        for name in ("ann", "widget_id")
    )
    shape = merge_shapes(first, second)
    assert observed.derive_shared(tools, {(1, None): shape}) == []
    assert keys(told(tools, {(1, None): shape, (1, OURS): shape})[OURS]) == {(1, 2)}
    own = [replace(tool, team=OURS) for tool in tools]
    assert keys(observed.derive_shared(own, {(1, OURS): shape})) == {(1, 2)}


THINGS = st.sampled_from(("widget", "paint", "order"))
PARTS = st.sampled_from(("id", "name", "code", "total"))
FIELDS = st.dictionaries(
    st.tuples(THINGS, PARTS).map("_".join) | st.sampled_from(("id", "url", "distance")),
    st.sampled_from(({"type": "string"}, {"type": "integer"})),
    max_size=3,
)
NAMES = st.tuples(st.sampled_from(("search", "get", "create", "delete", "book", "fast")), THINGS)
TOOLS = st.lists(st.tuples(NAMES, FIELDS, FIELDS), min_size=2, max_size=9)


@given(TOOLS, st.dictionaries(st.integers(1, 9), FIELDS, min_size=1, max_size=3))
def test_incremental_team_derivation_equals_a_full_one(drawn, saw):
    every = [
        named(
            f"{'shop' if pk % 2 else 'den'}:{'_'.join(name)}",
            pk,
            input_schema={"type": "object", "properties": takes, "required": sorted(takes)[:1]},
            output_schema=listing(**gives) if gives else None,
            team=OURS if pk == 5 else None,
        )
        for pk, (name, takes, gives) in enumerate(drawn, 1)
    ]
    shapes = {(pk, OURS): listing(**fields) for pk, fields in saw.items()}
    found = told(every, shapes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derive, "find_targets", lambda *_: {tool.pk for tool in every})
        assert found == told(every, shapes)


def test_team_and_shared_shapes_are_combined(tools):
    paints = named("shop:mix", 3, input_schema=schema("paint_id", "widget_id"))
    shapes = {(1, None): WIDGETS, (1, OURS): listing(paint_id={"type": "string"})}
    (claim,) = told([*tools, paints], shapes)[OURS]
    assert (claim.source, claim.target) == (1, 3)
    assert {field["input"] for field in claim.fields} == {"/paint_id", "/widget_id"}
