import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from graph.relations import Relation, RelationKind
from graph.suggestion.workflow.choose import choose_set
from graph.suggestion.workflow.dag import arrange_tasks, make_task_ids
from tests.graph import drawn
from tests.graph.suggestion.workflow.builders import (
    make_context,
    make_reading,
    needs,
    ranked,
    ranking,
    tool,
)


def dag(*tools, relations=(), given=(), intent="do it"):
    told = make_context(*given, relations=relations)
    likely = ranking(ranked(*tools))
    return arrange_tasks(
        choose_set(likely, told), make_reading(intent), ranking=likely, context=told
    )


def waits(found):
    return {task.id: set(task.depends_on) for task in found.tasks}


def reading(*pks):
    return [tool(pk, is_read_only=True) for pk in pks]


def test_tools_that_only_read_wait_for_nothing():
    found = dag(1, 2, 5, given=reading(1, 2, 5))
    assert waits(found) == {"status": set(), "add": set(), "now": set()}
    assert not found.is_serial


def test_a_tool_that_may_write_keeps_its_place_in_the_order():
    found = dag(1, 4, 5, given=reading(1, 5))
    assert waits(found) == {"status": set(), "send": {"status"}, "now": {"send"}}
    assert found.is_serial


def test_dependencies_come_first_whatever_the_ranker_says():
    found = dag(3, 1, 2, given=reading(1, 2, 3), relations=[needs(3, 2)])
    assert [task.tool.tool for task in found.tasks] == ["git:status", "git:add", "git:commit"]
    assert waits(found) == {"status": set(), "add": set(), "commit": {"add"}}


def test_a_doubtful_optional_dependency_orders_nothing():
    relations = [needs(1, 5, 0.3, required=False), needs(2, 5, 0.6, required=False)]
    found = dag(1, 2, 5, given=reading(1, 2, 5), relations=relations)
    assert waits(found) == {"status": set(), "add": {"now"}, "now": set()}


def test_a_cycle_is_broken_at_its_weakest_dependency_and_reported():
    relations = [needs(1, 2, 0.9), needs(2, 3, 0.8), needs(3, 1, 0.6)]
    found = dag(1, 2, 3, given=reading(1, 2, 3), relations=relations)
    assert [one.key[:2] for one in found.ignored_relations] == [(3, 1)]
    assert [task.tool.tool for task in found.tasks] == ["git:commit", "git:add", "git:status"]


def test_transitive_dependencies_are_left_out():
    found = dag(1, 2, 3, relations=[needs(3, 1), needs(3, 2), needs(2, 1)])
    assert waits(found) == {"status": set(), "add": {"status"}, "commit": {"add"}}


def test_a_tool_may_occur_more_than_once():
    found = dag(1, 2, 1)
    assert [task.id for task in found.tasks] == ["status", "add", "status_2"]


def test_each_repeated_task_depends_on_the_nearest_one_before_it():
    found = dag(1, 2, 1, 2, given=reading(1, 2), relations=[needs(2, 1)])
    assert waits(found) == {
        "status": set(),
        "add": {"status"},
        "status_2": set(),
        "add_2": {"status_2"},
    }


def test_an_output_that_feeds_a_parameter_becomes_a_reference():
    giver = tool(1, is_read_only=True)
    taker = tool(
        5,
        is_read_only=True,
        input_schema={
            "type": "object",
            "properties": {"commit_id": {"type": "string"}},
            "required": ["commit_id"],
        },
    )
    feeds = Relation(
        1,
        5,
        RelationKind.PROVIDES,
        0.9,
        detail={"fields": [{"output": "/sha", "input": "/commit_id"}]},
    )
    found = dag(1, 5, given=[giver, taker], relations=[feeds])
    (_, now) = found.tasks
    assert now.arguments == {"commit_id": {"$ref": "status", "pointer": "/sha"}}
    assert now.depends_on == ("status",)


def test_required_tasks_come_before_those_that_require_them():
    found = dag(3, relations=[needs(3, 2)])
    assert [(task.id, task.depends_on) for task in found.tasks] == [
        ("add", ()),
        ("commit", ("add",)),
    ]


def test_ids_are_readable_unique_and_plain():
    names = ["get:time now", "", "x" * 90, "ü", "get:time now"]
    ids = make_task_ids(names)
    assert ids == ["get_time_now", "task", "x" * 40, "task_2", "get_time_now_2"]


@given(st.lists(st.text(max_size=50), max_size=12))
def test_ids_are_distinct(names: list[str]):
    assert len(set(make_task_ids(names))) == len(names)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=7),
    drawn.relations(
        (RelationKind.DEPENDS_ON, RelationKind.PRECEDES, RelationKind.PROVIDES), tools=5, most=14
    ),
    st.sets(st.integers(1, 5)),
)
def test_the_order_fits_a_reduced_acyclic_graph(
    tools: list[int], relations: list[Relation], only_read: set[int]
):
    found = dag(*tools, given=reading(*only_read), relations=relations)
    graph = nx.DiGraph([(first, t.id) for t in found.tasks for first in t.depends_on])
    place = {task.id: at for at, task in enumerate(found.tasks)}
    assert len(place) == len(found.tasks)
    assert all(place[first] < place[then] for first, then in graph.edges)
    assert set(nx.transitive_reduction(graph).edges) == set(graph.edges)
