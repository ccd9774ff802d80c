from graph.relations import Kind, Relation
from graph.suggest.ways import MAX_PATHS, paths
from graph.topology import Topology
from tests.graph.suggest.builders import NAMES, needs


def found(relations, *tools):
    return paths(Topology(relations), tools, lambda pk: NAMES.get(pk, str(pk)))


def test_direct_ways_come_first_then_the_surest():
    told = found([needs(1, 9, 0.9), needs(9, 2, 0.9), needs(3, 1, 0.6), needs(3, 2, 0.7)], 1, 2, 3)
    assert [(path.tools, round(path.confidence, 2)) for path in told] == [
        ((3, 2), 0.7),
        ((3, 1), 0.6),
        ((1, 9, 2), 0.81),
    ]
    assert told[2].hops[0].words == "git:status requires 9"


def test_what_is_only_often_used_together_is_no_dependency():
    assert found([Relation(1, 2, Kind.OFTEN_USED_WITH, 1.0)], 1, 2) == ()


def test_a_way_over_another_tool_of_the_workflow_is_told_by_its_parts():
    told = found([needs(1, 2), needs(2, 3)], 1, 2, 3)
    assert [path.tools for path in told] == [(1, 2), (2, 3)]


def test_a_faint_way_is_not_told():
    assert found([needs(1, 9, 0.4), needs(9, 2, 0.4)], 1, 2) == ()


def test_only_a_few_are_told():
    every = [needs(one, other) for one in range(1, 6) for other in range(1, one)]
    assert len(found(every, *range(1, 6))) == MAX_PATHS
