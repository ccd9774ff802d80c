import pytest

from benchmarks.evaluation import binding_figures
from benchmarks.evaluation.answer import SuggestedCall
from benchmarks.evaluation.equivalence import is_equivalent
from benchmarks.evaluation.gold_calls import GoldCall

REQUIRED = {"a": frozenset({"x"}), "b": frozenset({"y", "z"})}


def task(identity, tool, **arguments):
    return SuggestedCall(
        id=identity, tool=tool, arguments=arguments, sources=dict.fromkeys(arguments, "literal")
    )


def ref(identity, pointer=""):
    return {"$ref": identity, "pointer": pointer}


def counted(tasks, calls):
    return binding_figures.count_bindings(tasks, calls, required=REQUIRED)


def test_arguments_are_counted_as_right_bound_needed_and_unresolved():
    gold = [GoldCall(id="c", tool="b", arguments={"y": 1, "w": "t"})]
    found = counted([task("t", "b", y="1", w="u")], gold)
    assert (found.correct, found.bound, found.gold) == (1, 2, 2)
    assert (found.unresolved, found.required) == (1, 2)
    assert found.by_source == {"literal": (1, 2)}
    assert found.rates == {"precision": 0.5, "recall": 0.5, "unresolved_required": 0.5}


def test_a_task_of_another_tool_binds_nothing_right_and_its_call_is_missed():
    found = counted([task("t", "a", x=1)], [GoldCall(id="c", tool="b", arguments={"x": 1})])
    assert (found.correct, found.bound, found.gold) == (0, 1, 1)


def test_tasks_of_one_tool_are_matched_to_the_calls_they_agree_with():
    gold = [
        GoldCall(id="c", tool="a", arguments={"x": 1}),
        GoldCall(id="d", tool="a", arguments={"x": 2}),
    ]
    found = counted([task("t", "a", x=2), task("u", "a", x=1), task("v", "a", x=1)], gold)
    assert (found.correct, found.bound) == (2, 3)


@pytest.mark.parametrize(
    ("suggested", "gold", "is_right"),
    [
        (ref("t", "/id"), ref("c", "/id"), True),
        (ref("t", "/id"), ref("c", "/name"), False),
        (ref("t", "/id"), ref("c"), True),
        (ref("t"), ref("c", "/id"), False),
        (ref("u", "/id"), ref("c", "/id"), False),
        ("c", ref("c"), False),
        (ref("t"), "t", False),
    ],
)
def test_a_reference_is_right_if_it_leads_to_the_right_call_and_field(suggested, gold, is_right):
    calls = [
        GoldCall(id="c", tool="a", arguments={}),
        GoldCall(id="d", tool="b", arguments={"y": gold}),
    ]
    found = counted([task("t", "a"), task("u", "b", y=suggested)], calls)
    assert found.correct == is_right


def test_any_accepted_value_is_right_and_optional_ones_may_be_left_out():
    gold = [
        GoldCall(
            id="c",
            tool="a",
            arguments={"x": "k", "y": 1},
            accepted={"x": ("k", "kilo")},
            optional=frozenset({"y"}),
        )
    ]
    found = counted([task("t", "a", x="Kilo")], gold)
    assert (found.correct, found.gold) == (1, 1)


def test_means_are_per_query_and_pooled_figures_per_argument():
    gold = [GoldCall(id="c", tool="a", arguments={"x": 1})]
    right, none = counted([task("t", "a", x=1)], gold), counted([], gold)
    assert binding_figures.mean_figures([right, none]) == {
        "precision": 1,
        "recall": 0.5,
        "unresolved_required": 0,
    }
    total = binding_figures.pool_counts([right, right, none])
    assert (total.correct, total.gold, total.by_source) == (2, 3, {"literal": (2, 2)})
    assert binding_figures.mean_figures([])["recall"] is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (5, "5"),
        (5.0, 5),
        ("$1,000", 1000),
        ("New  York.", "new york"),
        ("March 5th, 2024", "2024-03-05"),
        ("5 Mar 2024", "03/05/2024"),
        (["A", 1], ["a", 1.0]),
        ({"k": "A"}, {"k": "a"}),
        (True, True),
        (None, None),
    ],
)
def test_equivalent_values_are_equal(one, other):
    assert is_equivalent(one, other)
    assert is_equivalent(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [(5, "6"), (True, 1), (True, "true"), ("a", ["a"]), (["a", "b"], ["b", "a"]), (None, "")],
)
def test_different_values_are_not_equal(one, other):
    assert not is_equivalent(one, other)
