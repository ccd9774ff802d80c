import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.planning import references
from execution.planning.references import (
    ArgumentsTooDeep,
    MissingReferent,
    ReferencedDataTooLarge,
    resolve_references,
)
from gateway_project.foundation.references import escape_literals, iterate_marks, make_reference
from tests.execution.workflows import PLAIN

GAVE = {"a": {"ids": [7, {"x/y": "z"}]}, "none": None}


def resolved(value, **more):
    return resolve_references(value, results=GAVE.__getitem__, **more)


@pytest.mark.parametrize(
    ("value", "comes_to"),
    [
        ({"q": make_reference("a", "/ids/0")}, {"q": 7}),
        ({"q": [1, {"deep": make_reference("a", "/ids/1/x~1y")}]}, {"q": [1, {"deep": "z"}]}),
        ({"q": make_reference("a", "")}, {"q": GAVE["a"]}),
        ({"q": make_reference("none", "")}, {"q": None}),
        ({"q": {"$literal": make_reference("a", "")}}, {"q": make_reference("a", "")}),
        ({"$literal": {"q": {"$item": ""}}}, {"q": {"$item": ""}}),
        ({"q": {"$literal": {"$literal": 1}}}, {"q": {"$literal": 1}}),
        ({"q": make_reference("a", "/ids", "[1].*")}, {"q": ["z"]}),
        ({"q": {"$ref": "a", "select": "length(ids)"}}, {"q": 2}),
        ({"q": {"$ref": "a"}}, {"q": {"$ref": "a"}}),
        ({"q": {"$ref": "a", "select": ""}}, {"q": {"$ref": "a", "select": ""}}),
        ({"q": {"$ref": "a", "pointer": "", "x": 1}}, {"q": {"$ref": "a", "pointer": "", "x": 1}}),
    ],
)
def test_references_are_replaced_at_any_depth(value, comes_to):
    assert resolved(value) == comes_to


@pytest.mark.parametrize("expression", ["none", "sum(ids)", "|".join(["[@,@]"] * 40)])
def test_what_cannot_be_selected_is_missing(expression):
    with pytest.raises(MissingReferent, match="select"):
        resolved({"q": make_reference("a", "", expression)})


def test_item_references_resolve_to_the_current_item():
    item = {"name": "ann", "ids": [1, 2]}
    value = {"who": {"$item": "/name"}, "all": {"$item": ""}, "last": [{"$item": "/ids/1"}]}
    assert resolved(value, item=item) == {"who": "ann", "all": item, "last": [2]}
    assert resolved({"x": {"$item": ""}}, item=None) == {"x": None}


def test_server_results_are_never_interpreted_as_references():
    answer = {"$ref": "secret", "pointer": ""}
    found = resolve_references({"x": make_reference("a", "")}, results={"a": answer}.__getitem__)
    assert found == {"x": answer}


@given(PLAIN)
def test_literals_are_inserted_unchanged(value):
    assert resolved({"x": escape_literals(value)}) == {"x": value}


@given(st.dictionaries(st.text(max_size=3), PLAIN))
def test_other_values_are_left_unchanged(value):
    if not any(iterate_marks(value)):
        assert resolved(value) == value


@pytest.mark.parametrize(
    ("value", "task", "says"),
    [
        (make_reference("b", "/x"), "b", "it has no result"),
        (make_reference("a", "/ids/9"), "a", "nothing at '9'"),
        (make_reference("a", "/ids/first"), "a", "nothing at 'first'"),
        (make_reference("a", "/names"), "a", "nothing at 'names'"),
        (make_reference("none", "/x"), "none", "nothing at 'x'"),
        ({"$item": "/x"}, "", "the task runs once"),
    ],
)
def test_a_missing_referent_is_an_error_that_names_it(value, task, says):
    with pytest.raises(MissingReferent, match=says) as caught:
        resolved({"x": [value]})
    assert caught.value.task == task
    assert caught.value.code == "missing_referent"


def test_the_reason_for_a_missing_result_is_passed_on():
    def results(_task):
        raise LookupError("it was skipped")

    with pytest.raises(MissingReferent, match="the result of task 'b' at '/x': it was skipped"):
        resolve_references(make_reference("b", "/x"), results=results)


def test_a_pointer_that_an_item_lacks_is_an_error():
    with pytest.raises(MissingReferent, match="in the item at '/name'"):
        resolved({"x": {"$item": "/name"}}, item={"id": 1})


def test_deep_arguments_are_an_error_and_no_crash():
    value = 1
    for _ in range(10_000):
        value = [value]
    with pytest.raises(ArgumentsTooDeep):
        resolved({"x": value})


def test_the_same_large_result_over_and_over_is_refused(monkeypatch):
    monkeypatch.setattr(references, "MAX_BYTES", 10_000)
    gave = {"a": "x" * 6_000}
    once = {"x": make_reference("a", "")}
    assert resolve_references(once, results=gave.__getitem__) == {"x": gave["a"]}
    with pytest.raises(ReferencedDataTooLarge, match="split it into several tasks"):
        resolve_references([once, once], results=gave.__getitem__)
    with pytest.raises(ReferencedDataTooLarge):
        resolve_references([{"$item": ""}, once], results=gave.__getitem__, item="x" * 6_000)


def test_results_of_many_calls_beyond_the_limit_are_not_inserted(monkeypatch):
    monkeypatch.setattr(references, "MAX_BYTES", 10_000)
    gave = {"a": ["x" * 6_000] * 2}
    with pytest.raises(ReferencedDataTooLarge):
        resolve_references({"x": make_reference("a", "")}, results=gave.__getitem__)


@pytest.mark.parametrize("inner", [0, {"a": 1}, [1]], ids=str)
def test_more_values_than_can_be_validated_quickly_are_refused(monkeypatch, inner):
    monkeypatch.setattr(references, "MAX_VALUES", 100)
    for many, is_refused in ((40, False), (101, True)):
        gave = {"a": [inner] * many}
        if is_refused:
            with pytest.raises(ReferencedDataTooLarge, match="100 values"):
                resolve_references({"x": make_reference("a", "")}, results=gave.__getitem__)
        else:
            resolve_references({"x": make_reference("a", "")}, results=gave.__getitem__)


def test_a_for_each_list_is_not_subject_to_the_argument_limit(monkeypatch):
    monkeypatch.setattr(references, "MAX_BYTES", 10)
    monkeypatch.setattr(references, "MAX_VALUES", 1)
    gave = {"a": ["x" * 50, 1]}
    assert resolve_references(make_reference("a", ""), results=gave.__getitem__) == gave["a"]
