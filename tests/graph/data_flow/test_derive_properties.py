"""Whatever the schemas, what is derived holds together; and it is the same again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from graph.data_flow.derive import derive_flows
from graph.data_flow.endpoints import read_endpoints
from tests.gateway.catalogues import tool

NAMES = st.sampled_from(
    [
        "id",
        "user_id",
        "userName",
        "url",
        "q",
        "geoId",
        "items",
        "",
        "a/b",
        "x" * 300,
        "日期",
        "type",
    ]
)
LEAVES = st.one_of(
    st.booleans(),
    st.none(),
    st.sampled_from(
        ["string", "int", "dict", "date", {"$ref": "#"}, {"$ref": "#/$defs/a"}, 7, []]
    ),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"properties": st.dictionaries(NAMES | st.integers(), inner)}),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"type": inner, "description": NAMES | st.integers()}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3), "$defs": st.just({"a": {}})}),
    ),
    max_leaves=12,
)
TOOLS = st.tuples(
    st.tuples(
        st.sampled_from(["s", "users"]),
        st.sampled_from(["search_users", "get_user", "a.b", "user_login", "🙂", "Users.BookUser"]),
    ),
    SCHEMAS,
    st.fixed_dictionaries(
        {
            "input_schema": SCHEMAS,
            "output_schema": SCHEMAS,
            "team": st.sampled_from([None, 1, 2]),
        }
    ),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(TOOLS, max_size=7), st.randoms(use_true_random=False))
def test_any_tools_give_sound_relations_in_any_order(rows, random):
    tools = [
        read_endpoints(tool(f"{server}:{name}", pk=pk, **row), [seen])
        for pk, ((server, name), seen, row) in enumerate(rows)
    ]
    flows = derive_flows(tools)
    teams = {one.tool.pk: one.tool.team for one in tools}
    assert len({(flow.source, flow.target) for flow in flows}) == len(flows)
    for flow in flows:
        assert flow.source != flow.target
        assert 0.0 < flow.confidence < 1.0
        assert None in (one := {teams[flow.source], teams[flow.target]}) or len(one) == 1
        assert all(pointer.startswith("/") for pair in flow.fields for pointer in pair.values())
    random.shuffle(tools)
    assert derive_flows(tools) == flows


def test_ten_thousand_ambiguous_properties_relate_nothing():
    wide = {"properties": {f"thing{n}_id": {"type": "string"} for n in range(10_000)}}
    tools = [
        read_endpoints(tool("s:find", pk=1, output_schema=wide), []),
        read_endpoints(tool("s:take", pk=2, input_schema=wide), []),
    ]
    assert derive_flows(tools) == []
