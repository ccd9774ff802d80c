import pytest

from graph.enhance.order import order_tools
from graph.relations import EvidenceSource, Relation, RelationKind
from graph.topology import Topology

SCHEMA = (EvidenceSource.SCHEMA,)


def before(one, other, confidence=0.9, **values):
    return Relation(one, other, RelationKind.PRECEDES, confidence, **values)


def needs(source, target, *, required=True):
    return Relation(source, target, RelationKind.DEPENDS_ON, 1.0, required)


def order(relations, *listed):
    return order_tools(Topology(relations), listed).tools


def test_only_tools_around_the_best_match_are_ordered():
    relations = [before(3, 2), before(2, 1), before(1, 4), before(5, 6), before(2, 7)]
    assert order(relations, 1, 2, 3, 4, 5, 6, 7) == (3, 2, 1, 4)


def test_all_dependents_of_listed_tools_are_ordered():
    relations = [needs(2, 3), needs(4, 5, required=False), needs(6, 9)]
    assert order(relations, 1, 2, 3, 4, 5, 6) == (3, 2, 5, 4)


@pytest.mark.parametrize(
    ("confidence", "sources", "expected"),
    [
        (0.79, SCHEMA, ()),
        (0.8, SCHEMA, (2, 1)),
        (0.5, (EvidenceSource.CURATED,), (2, 1)),
        (0.49, (EvidenceSource.OBSERVED,), ()),
    ],
)
def test_schema_relations_need_certainty_and_others_likelihood(confidence, sources, expected):
    flow = Relation(2, 1, RelationKind.PROVIDES, confidence, sources=sources)
    assert order([flow], 1, 2) == expected


def test_a_check_comes_last_and_leads_to_nothing_else_that_it_checks():
    relations = [Relation(2, tool, RelationKind.VALIDATES, 0.9) for tool in (1, 3)]
    assert order(relations, 1, 2, 3) == (1, 2)
    assert order(relations, 2, 1, 3) == ()


@pytest.mark.parametrize(
    "kind", [RelationKind.MUTUALLY_EXCLUSIVE, RelationKind.REPLACES, RelationKind.ALTERNATIVE_TO]
)
def test_the_higher_ranked_of_rival_tools_is_used(kind):
    relations = [before(2, 1), before(3, 1), Relation(3, 2, kind, 1.0)]
    assert order(relations, 1, 2, 3) == (2, 1)
    assert order(relations, 1, 3, 2) == (3, 1)


def test_the_weakest_dependency_of_a_cycle_is_reported():
    back = needs(2, 1)._replace(confidence=0.4)
    found = order_tools(Topology([needs(1, 2), back]), [1, 2])
    assert (found.tools, found.dropped_relations) == ((2, 1), (back,))
