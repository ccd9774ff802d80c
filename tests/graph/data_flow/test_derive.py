"""What tools provide for each other, from declared results and from results seen."""

import pytest

from graph.data_flow.derive import MAX_FIELDS, MAX_SOURCES, MAX_TARGETS, MIN_CONFIDENCE
from tests.graph.data_flow.flow_tools import Catalogue, listing, schema

TEXT = {"type": "string"}


@pytest.fixture
def tools():
    return Catalogue()


def test_a_declared_field_feeds_an_input_of_the_same_name(tools):
    tools.add("find_place", schema("query"), gives=listing(geo_id=TEXT))
    tools.add("list_hotels", schema("geoId"))
    flow = tools.flows()["find_place", "list_hotels"]
    assert flow.fields == ({"output": "/items/*/geo_id", "input": "/geoId"},)
    assert flow.confidence > 0.8


def test_a_field_that_was_seen_counts_like_a_declared_one(tools):
    tools.add("find_place", schema("query"), seen=listing(geoId=TEXT))
    tools.add("list_hotels", schema("geoId"))
    assert tools.flows()["find_place", "list_hotels"].fields[0]["output"] == "/items/*/geoId"


@pytest.mark.parametrize(
    ("gives", "takes"),
    [
        ({"airport": {"properties": {"id": TEXT}}}, "airportId"),
        ({"airports": {"items": {"properties": {"uuid": TEXT}}}}, "airport_id"),
        ({"airport_id": TEXT}, "destinationAirportId"),
        ({"airport_url": TEXT}, "airport_link"),
        ({"airport": {"type": "string", "format": "uri"}}, "airport_url"),
        ({"repo_name": TEXT}, "repository-name"),
    ],
)
def test_names_meet_through_their_parents_aliases_formats_and_qualifiers(tools, gives, takes):
    tools.add("overview", gives={"type": "object", "properties": gives})
    tools.add("show", schema(takes))
    assert tools.flows()["overview", "show"].confidence > 0.5


def test_a_bare_id_belongs_to_the_object_of_each_tool(tools):
    tools.add("search_artists", schema("query"), gives=listing(id=TEXT))
    tools.add("search_venues", schema("query"), gives=listing(id=TEXT))
    tools.add("get_artist", schema("id"))
    assert tools.flows().keys() == {("search_artists", "get_artist")}


def test_incompatible_types_and_formats_do_not_match(tools):
    tools.add("forecast", gives=listing(departure_time={"type": "string", "format": "date-time"}))
    tools.add("book", schema(departure_time={"type": "string", "format": "date"}))
    tools.add("ride", schema(departure_time={"type": "number"}))
    assert tools.flows() == {}


@pytest.mark.parametrize(
    "bare", ["id", "name", "query", "path", "text", "limit", "url", "type", "status", "page_size"]
)
def test_a_bare_name_does_not_link_half_the_catalogue(tools, bare):
    for place in range(40):
        tools.add(f"do{place}", schema(bare), gives=listing(**{bare: TEXT}), server=f"s{place}")
    assert tools.flows() == {}


def order_tools(count):
    tools = Catalogue()
    for place in range(count):
        tools.add(f"alpha{place}", gives=listing(order_id=TEXT))
    tools.add("ship", schema("order_id"))
    return tools


def test_an_input_with_several_sources_has_lower_confidence():
    sure = order_tools(1).flows()["alpha0", "ship"].confidence
    flows = order_tools(4 * MAX_SOURCES).flows()
    assert len(flows) == MAX_SOURCES
    assert all(flow.confidence < sure - 0.1 for flow in flows.values())


def test_a_relation_names_a_bounded_number_of_inputs(tools):
    names = [f"{a}{b}_id" for a in "bcdfg" for b in ("ook", "ird", "oat", "ell")]
    tools.add("find", gives=listing(**dict.fromkeys(names, TEXT)))
    tools.add("take", schema(*names))
    assert len(tools.flows()["find", "take"].fields) == MAX_FIELDS


def test_one_tool_feeds_a_bounded_number_of_others(tools):
    tools.add("find_orders", gives=listing(order_id=TEXT))
    for place in range(3 * MAX_TARGETS):
        tools.add(f"ship{place}", schema("order_id"))
    assert len(tools.flows()) == MAX_TARGETS


def test_echoed_inputs_are_recognised_by_their_parent_object(tools):
    zone = {"type": "object", "properties": {"timezone": TEXT}}
    clock = {"type": "object", "properties": {"source": zone, "elsewhere": zone}}
    nested = {"type": "object", "properties": {"source": zone}, "required": ["source"]}
    flat = schema("source_timezone")
    tools.add("convert_time", flat, gives={"type": "object", "properties": {"source": zone}})
    tools.add("shift_time", nested, gives=schema("source_timezone"))
    tools.add("current_time", schema("timezone"))
    assert tools.flows() == {}
    tools.add("world_clock", flat, gives=clock)
    assert tools.flows()["world_clock", "current_time"].confidence > 0.5


def test_other_servers_count_less(tools):
    tools.add("find", gives=listing(customer_email=TEXT))
    tools.add("invite", schema("customer_email"))
    tools.add("write", schema("customer_email"), server="other")
    flows = tools.flows()
    assert (
        MIN_CONFIDENCE
        <= flows["find", "write"].confidence
        < flows["find", "invite"].confidence - 0.2
    )


def test_private_tools_of_two_teams_never_relate(tools):
    tools.add("find", gives=listing(customer_email=TEXT), server="a", team=1)
    tools.add("write", schema("customer_email"), server="b", team=2)
    assert tools.flows() == {}


@pytest.mark.parametrize(("giver", "taker"), [(None, 2), (2, None), (2, 2), (None, None)])
def test_shared_tools_and_those_of_one_team_relate(tools, giver, taker):
    tools.add("find", gives=listing(customer_email=TEXT), server="a", team=giver)
    tools.add("write", schema("customer_email"), server="b", team=taker)
    assert tools.flows().keys() == {("find", "write")}


def test_a_teams_own_tools_change_nothing_for_others(tools):
    tools.add("find", gives=listing(customer_email=TEXT), server="a")
    tools.add("write", schema("customer_email"), server="b")
    tools.add("theirs", gives=listing(customer_email=TEXT), server="d", team=2)
    before = tools.flows()
    assert before.keys() == {("find", "write"), ("theirs", "write")}
    for place in range(3 * MAX_SOURCES):
        tools.add(f"p{place}", gives=listing(customer_email=TEXT), server=f"p{place}", team=1)
    after = tools.flows()
    assert {pair: after[pair] for pair in before} == before


def test_a_teams_targets_do_not_displace_those_of_others(tools):
    tools.add("find", gives=listing(customer_email=TEXT))
    for team in (1, 2):
        for place in range(MAX_TARGETS):
            own = schema("customer_email")
            tools.add(f"write{place}_{team}", own, server=f"s{team}", team=team)
    assert len(tools.flows()) == 2 * MAX_TARGETS


@pytest.mark.parametrize(
    ("gives", "takes"),
    [
        ("user_id", "username_or_id"),
        ("user_name", "username_or_id"),
    ],
)
def test_an_input_may_accept_alternative_objects(tools, gives, takes):
    tools.add("overview", gives=listing(**{gives: TEXT}))
    tools.add("show", schema(takes))
    assert ("overview", "show") in tools.flows()
