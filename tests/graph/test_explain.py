from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph import explain
from graph.explain import DisplayNames
from graph.record import GraphMetric
from graph.relations import Evidence, EvidenceSource, Relation, RelationKind
from graph.topology import Topology

AT = datetime(2026, 11, 1, tzinfo=UTC)
NAMES = "s:{}".format
DISPLAY_NAMES = DisplayNames(name_of=NAMES)
METRICS = {
    1: GraphMetric(pagerank=0.4, community=0, betweenness=0.0, closeness=0.0),
    2: GraphMetric(pagerank=0.1, community=0, betweenness=0.0, closeness=0.0),
    3: GraphMetric(pagerank=0.5, community=1, betweenness=0.0, closeness=0.0),
}


def relation(source, target, kind="precedes", confidence=1.0, **values):
    return Relation(source, target, RelationKind(kind), confidence, **values)


def explained(*relations, a=1, b=2, names=DISPLAY_NAMES):
    return explain.explain_relations(Topology(relations), a, b, names=names, metrics=METRICS)


def test_direct_relations_are_listed_both_ways_by_confidence():
    found = explained(
        relation(1, 2, confidence=0.5), relation(2, 1, "provides", 0.9), relation(1, 3)
    )
    assert [link.text for link in found.relations] == [
        "s:2 provides for s:1",
        "s:1 comes before s:2",
    ]
    assert found.forward.shortest.is_direct
    assert found.backward.shortest.confidence == 0.9


def test_the_strongest_path_may_be_longer_than_the_shortest():
    found = explained(
        relation(1, 2, confidence=0.1),
        relation(1, 3, confidence=0.9),
        relation(3, 2, confidence=0.9),
    )
    assert found.forward.shortest.tools == (1, 2)
    assert found.forward.strongest.tools == (1, 3, 2)
    assert found.forward.strongest.confidence == pytest.approx(0.81)


def test_without_a_path_common_neighbours_are_named():
    found = explained(
        relation(1, 3, "alternative_to", 0.5),
        relation(2, 3, "validates", 0.8),
        relation(1, 4, confidence=0.9),
        relation(4, 5),
        relation(2, 4, confidence=0.9),
    )
    assert found.common_neighbours == ((4, pytest.approx(0.81)), (3, pytest.approx(0.4)))


def test_tools_without_relations_or_metrics_are_explained_as_such():
    found = explained(a=8, b=9)
    assert (found.a.name, found.a.pagerank, found.a.community) == ("s:8", None, None)
    assert found.relations == ()
    assert not found.is_same_community


def test_evidence_is_included_on_request():
    asked = []

    def said(key):
        asked.append(key)
        return [
            Evidence(
                source=EvidenceSource.OBSERVED,
                team=7,
                confidence=None,
                successes=7,
                failures=1,
                last_seen=AT,
            )
        ]

    names = DisplayNames(name_of=NAMES, evidence_of=said, team_name={7: "team blue"}.__getitem__)
    found = explained(relation(1, 2), names=names)
    assert found.relations[0].evidence_texts == ("seen by team blue in 7 of 8 runs",)
    assert set(asked) == {(1, 2, RelationKind.PRECEDES)}


def test_json_output_names_tools_and_is_complete():
    found = explained(relation(1, 3, confidence=0.5), relation(3, 2))
    report = explain.explanation_to_json(found, NAMES)
    assert report["paths"]["b_to_a"] == {"shortest": None, "strongest": None}
    path = report["paths"]["a_to_b"]["shortest"]
    assert path["tools"] == ["s:1", "s:3", "s:2"]
    assert (path["direct"], path["confidence"]) == (False, 0.5)
    assert path["hops"][0]["kind"] == "precedes"
    assert report["a"] == {"tool": "s:1", "pagerank": 0.4, "community": 0}
    assert report["same_tool"] is False


PAIRS = st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda pair: pair[0] != pair[1])


@given(
    st.lists(st.tuples(PAIRS, st.sampled_from(RelationKind), st.floats(0.01, 1.0)), max_size=20)
)
def test_whatever_relations_exist_hops_lead_from_one_tool_to_the_other(given_relations):
    found = explained(*(relation(*pair, kind, sure) for pair, kind, sure in given_relations))
    for routes, ends in ((found.forward, (1, 2)), (found.backward, (2, 1))):
        for path in (routes.shortest, routes.strongest):
            if path is None:
                continue
            assert (path.tools[0], path.tools[-1]) == ends
            assert 0.0 <= path.confidence <= 1.0
            for hop, pair in zip(path.hops, pairwise(path.tools), strict=True):
                assert {hop.relation.source, hop.relation.target} == set(pair)
        if routes.shortest is not None:
            assert len(routes.shortest.hops) <= len(routes.strongest.hops)
            assert routes.strongest.confidence >= routes.shortest.confidence - 1e-9
    assert explain.explanation_to_json(found, NAMES)["exclusive"] is found.is_exclusive
