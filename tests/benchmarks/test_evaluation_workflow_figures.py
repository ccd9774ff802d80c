import pytest

from benchmarks.evaluation import workflow_figures
from benchmarks.evaluation.answer import SuggestedAnswer
from benchmarks.evaluation.dataset import DatasetQuery


def query(*tools, edges=None, slots=None):
    wanted = slots or [{tool} for tool in dict.fromkeys(tools)]
    return DatasetQuery(
        id="q",
        text="q",
        slots=tuple(map(frozenset, wanted)),
        group="q",
        tools=tools,
        edges=None if edges is None else tuple(edges),
    )


CHAIN = query("a", "b", "c", edges=[("a", "b"), ("b", "c")])


@pytest.mark.parametrize(
    ("chain", "node_f1", "edge_f1", "exact_set", "exact_dag"),
    [
        ("abc", 1, 1, 1, 1),
        ("acb", 1, 0, 1, 0),
        ("ab", 0.8, 2 / 3, 0, 0),
        ("abcd", 6 / 7, 0.8, 0, 0),
        ("xy", 0, 0, 0, 0),
        ("", 0, 0, 0, 0),
    ],
)
def test_a_workflow_is_judged_by_its_tools_and_their_order(
    chain, node_f1, edge_f1, exact_set, exact_dag
):
    found = workflow_figures.judge_workflow(tuple(chain), CHAIN)
    assert found.as_json() == pytest.approx(
        {
            "node_f1": node_f1,
            "edge_f1": edge_f1,
            "exact_set": exact_set,
            "exact_dag": exact_dag,
        }
    )


def test_a_tool_that_recurs_counts_once_and_next_to_itself_is_a_pair():
    twice = query("a", "a", edges=[("a", "a")])
    assert workflow_figures.judge_workflow(("a", "a"), twice).exact_dag == 1
    once = workflow_figures.judge_workflow(("a",), twice)
    assert (once.exact_set, once.edge_f1, once.exact_dag) == (1, 0, 0)


def test_only_the_first_tool_of_a_slot_is_right():
    either = query("a", slots=[{"a", "b"}])
    assert workflow_figures.judge_workflow(("b",), either).exact_set == 1
    both = workflow_figures.judge_workflow(("b", "a"), either)
    assert (both.exact_set, both.node_f1) == (0, pytest.approx(2 / 3))


def test_without_gold_edges_order_is_not_judged():
    found = workflow_figures.judge_workflow(("a",), query("a"))
    assert (found.edge_f1, found.exact_dag) == (None, None)
    waits = SuggestedAnswer(ordered_pairs=frozenset({("a", "b")}))
    assert workflow_figures.dependency_f1(waits, query("a")) is None
    assert workflow_figures.dependency_f1(waits, CHAIN) == pytest.approx(2 / 3)


def test_a_single_tool_has_no_pairs_and_that_is_right():
    assert workflow_figures.judge_workflow(("a",), query("a", edges=[])).exact_dag == 1


def test_means_are_taken_over_the_workflows_that_have_the_figure():
    judged = [
        workflow_figures.judge_workflow(("a",), query("a")),
        workflow_figures.judge_workflow(tuple("abc"), CHAIN),
        workflow_figures.judge_workflow(("x",), query("a")),
    ]
    found = workflow_figures.mean_figures(judged)
    assert found.node_f1 == pytest.approx(2 / 3)
    assert found.edge_f1 == 1
    assert workflow_figures.mean_figures([]).node_f1 is None


def test_gold_is_a_chain_where_its_edges_are_the_neighbours_in_order():
    assert workflow_figures.are_edges_chains([CHAIN, query("a", edges=[])])
    assert not workflow_figures.are_edges_chains([query("a", "b", "c", edges=[("a", "c")])])
    assert not workflow_figures.are_edges_chains([query("a")])
