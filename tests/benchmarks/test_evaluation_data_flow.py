import pytest

from benchmarks.evaluation import data_flow
from benchmarks.evaluation.dataset import DatasetQuery, DatasetTool


def tool(name, *inputs):
    return DatasetTool(
        id=f"s/{name}",
        server="s",
        name=name,
        title="",
        description="",
        input_schema={
            "type": "object",
            "properties": {key: {} for key in inputs},
            "required": inputs,
        },
        category="",
    )


def query(number, first, second, **arguments):
    calls = [{"label": "a", "tool": first, "args": {}}]
    calls.append({"label": "b", "tool": second, "args": arguments})
    return DatasetQuery(
        id=str(number),
        text="do it",
        slots=(frozenset({first}), frozenset({second})),
        group=str(number),
        edges=((first, second),) if arguments else (),
        arguments=calls,
    )


TOOLS = [
    tool("search_orders", "query"),
    tool("ship", "order_id"),
    tool("cancel", "order_id"),
    tool("overview"),
    tool("greet", "buyer_name"),
]


def test_relations_are_judged_among_pairs_called_together_and_among_all():
    queries = [query(n, "s/search_orders", "s/ship", order_id="$a.id$") for n in range(20)]
    queries += [query(20 + n, "s/overview", "s/greet", buyer_name="$a.name$") for n in range(20)]
    figures = data_flow.measure_data_flow(TOOLS, queries)
    assert figures["gold"] == 4  # two pairs in each half
    assert figures["relations"] == 4  # search_orders feeds ship, and cancel
    assert figures["precision"] == 1.0
    assert figures["precision_all"] == 0.5
    assert figures["recall"] == 0.5


def test_a_pair_called_together_without_reference_counts_against_precision():
    queries = [query(n, "s/search_orders", "s/ship", order_id="$a.id$") for n in range(20)]
    queries += [query(20 + n, "s/search_orders", "s/cancel") for n in range(20)]
    assert data_flow.measure_data_flow(TOOLS, queries)["precision"] == 0.5


def test_outputs_are_those_that_the_other_half_refers_to():
    queries = [
        query(n, "s/overview", "s/greet", buyer_name="$a.rows[0].buyer.name$") for n in range(20)
    ]
    assert data_flow.measure_data_flow(TOOLS, queries)["recall"] == 1.0


def test_one_query_alone_never_sees_its_own_outputs():
    queries = [query(1, "s/overview", "s/greet", buyer_name="$a.buyer.name$")]
    assert data_flow.measure_data_flow(TOOLS, queries)["recall"] == 0.0


@pytest.mark.parametrize(
    "arguments", [None, [], [{"tool": "s/ship", "args": {"order_id": "7"}}], "x"]
)
def test_sets_without_references_have_no_figures(arguments):
    plain = DatasetQuery(
        id="1",
        text="do it",
        slots=(frozenset({"s/ship"}),),
        group="1",
        edges=(("s/search_orders", "s/ship"),),
        arguments=arguments,
    )
    assert data_flow.measure_data_flow(TOOLS, [plain]) is None


def test_calibration_compares_confidence_with_what_is_right():
    judged = data_flow.JudgedRelations(
        derived={("a", "b"): 0.9, ("a", "c"): 0.92, ("b", "c"): 0.3, ("c", "d"): 0.9},
        gold=frozenset({("a", "b")}),
        called_together=frozenset({("a", "b"), ("a", "c"), ("b", "c")}),
    )
    assert list(data_flow.iterate_calibration_bins([judged])) == [
        (1, 0.3, 0.0),
        (2, pytest.approx(0.91), 0.5),
    ]
