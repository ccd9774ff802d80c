from graph.relations import Relation, RelationKind
from graph.suggestion.workflow.build import MAX_PATHS, find_paths
from graph.topology import Topology
from tests.graph.suggestion.workflow.builders import NAMES, needs


def found(relations, *tools):
    return find_paths(Topology(relations), tools, lambda pk: NAMES.get(pk, str(pk)))


def test_often_used_together_is_no_path():
    assert found([Relation(1, 2, RelationKind.OFTEN_USED_WITH, 1.0)], 1, 2) == ()


def test_a_path_through_another_workflow_tool_is_listed_by_its_parts():
    told = found([needs(1, 2), needs(2, 3)], 1, 2, 3)
    assert [path.tools for path in told] == [(1, 2), (2, 3)]


def test_a_path_of_low_confidence_is_left_out():
    assert found([needs(1, 9, 0.4), needs(9, 2, 0.4)], 1, 2) == ()


def test_the_number_of_paths_is_bounded():
    every = [needs(one, other) for one in range(1, 6) for other in range(1, one)]
    assert len(found(every, *range(1, 6))) == MAX_PATHS
