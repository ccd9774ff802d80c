"""Positions of tools: each group together, none upon another, the same every time."""

import math

from graph.algorithms.layout import MAX_SPRUNG, place_tools
from graph.relations import Relation, RelationKind
from graph.topology import Topology


def related(*pairs):
    return Topology(
        Relation(source, target, RelationKind.PROVIDES, 0.9, False) for source, target in pairs
    )


def centre(places, tools):
    return [sum(places[tool][axis] for tool in tools) / len(tools) for axis in (0, 1)]


def test_groups_lie_apart_and_their_members_together():
    groups = {tool: tool // 30 for tool in range(120)}
    topology = related(*((tool, tool + 1) for tool in range(119)))
    places = place_tools(topology, groups, ranks={})
    assert places.keys() == groups.keys()
    for group in range(4):
        own = [tool for tool in groups if groups[tool] == group]
        middle = centre(places, own)
        farthest = max(math.dist(places[tool], middle) for tool in own)
        others = [
            centre(places, [t for t in groups if groups[t] == g]) for g in range(4) if g != group
        ]
        assert min(math.dist(middle, other) for other in others) > farthest


def test_large_groups_are_filled_from_the_centre_by_rank():
    count = MAX_SPRUNG + 50
    places = place_tools(Topology(), dict.fromkeys(range(count), "one"), ranks={7: 1.0, 9: 0.5})
    assert places[7] == (0.0, 0.0)
    assert len(set(places.values())) == count


def test_the_same_graph_is_placed_the_same_way():
    groups = {tool: tool % 3 for tool in range(40)}
    topology = related(*((tool, (7 * tool + 3) % 40) for tool in range(1, 40)))
    assert place_tools(topology, groups, ranks={}) == place_tools(topology, groups, ranks={})


def test_nothing_has_no_positions():
    assert place_tools(Topology(), {}, ranks={}) == {}
