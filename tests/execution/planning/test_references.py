import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.planning import references
from execution.planning.references import MissingReferent, TooDeep, TooLarge, resolve
from graph.references import escaped, marks, reference
from tests.execution.workflows import PLAIN

GAVE = {"a": {"ids": [7, {"x/y": "z"}]}, "none": None}


def resolved(value, **more):
    return resolve(value, results=GAVE.__getitem__, **more)


@pytest.mark.parametrize(
    ("value", "comes_to"),
    [
        ({"q": reference("a", "/ids/0")}, {"q": 7}),
        ({"q": [1, {"deep": reference("a", "/ids/1/x~1y")}]}, {"q": [1, {"deep": "z"}]}),
        ({"q": reference("a", "")}, {"q": GAVE["a"]}),
        ({"q": reference("none", "")}, {"q": None}),
        ({"q": {"$literal": reference("a", "")}}, {"q": reference("a", "")}),
        ({"$literal": {"q": {"$item": ""}}}, {"q": {"$item": ""}}),
        ({"q": {"$literal": {"$literal": 1}}}, {"q": {"$literal": 1}}),
        ({"q": {"$ref": "a"}}, {"q": {"$ref": "a"}}),
        ({"q": {"$ref": "a", "pointer": "", "x": 1}}, {"q": {"$ref": "a", "pointer": "", "x": 1}}),
    ],
)
def test_what_stands_for_something_else_is_replaced_at_any_depth(value, comes_to):
    assert resolved(value) == comes_to


def test_the_item_is_what_the_task_runs_for():
    item = {"name": "ann", "ids": [1, 2]}
    value = {"who": {"$item": "/name"}, "all": {"$item": ""}, "last": [{"$item": "/ids/1"}]}
    assert resolved(value, item=item) == {"who": "ann", "all": item, "last": [2]}
    assert resolved({"x": {"$item": ""}}, item=None) == {"x": None}


def test_what_a_server_answered_is_never_read_as_a_reference():
    answer = {"$ref": "secret", "pointer": ""}
    found = resolve({"x": reference("a", "")}, results={"a": answer}.__getitem__)
    assert found == {"x": answer}


@given(PLAIN)
def test_what_is_escaped_comes_out_as_it_was(value):
    assert resolved({"x": escaped(value)}) == {"x": value}


@given(st.dictionaries(st.text(max_size=3), PLAIN))
def test_what_stands_for_itself_stays(value):
    if not any(marks(value)):
        assert resolved(value) == value


@pytest.mark.parametrize(
    ("value", "task", "says"),
    [
        (reference("b", "/x"), "b", "it gave nothing"),
        (reference("a", "/ids/9"), "a", "nothing at '9'"),
        (reference("a", "/ids/first"), "a", "nothing at 'first'"),
        (reference("a", "/names"), "a", "nothing at 'names'"),
        (reference("none", "/x"), "none", "nothing at 'x'"),
        ({"$item": "/x"}, "", "the task runs once"),
    ],
)
def test_what_is_missing_is_an_error_that_says_what(value, task, says):
    with pytest.raises(MissingReferent, match=says) as caught:
        resolved({"x": [value]})
    assert caught.value.task == task
    assert caught.value.code == "missing_referent"


def test_why_a_task_gave_nothing_is_passed_on():
    def results(_task):
        raise LookupError("it was skipped")

    with pytest.raises(MissingReferent, match="what task 'b' gave at '/x': it was skipped"):
        resolve(reference("b", "/x"), results=results)


def test_a_place_that_an_item_lacks_is_an_error():
    with pytest.raises(MissingReferent, match="from the item at '/name'"):
        resolved({"x": {"$item": "/name"}}, item={"id": 1})


def test_deep_arguments_are_an_error_and_no_crash():
    value = 1
    for _ in range(10_000):
        value = [value]
    with pytest.raises(TooDeep):
        resolved({"x": value})


def test_what_is_brought_in_may_be_deep():
    value = 1
    for _ in range(10_000):
        value = [value]
    assert resolve({"x": reference("a", "")}, results={"a": value}.__getitem__)["x"] is value


def test_the_same_large_result_over_and_over_is_refused(monkeypatch):
    monkeypatch.setattr(references, "MAX_BYTES", 10_000)
    gave = {"a": "x" * 6_000}
    once = {"x": reference("a", "")}
    assert resolve(once, results=gave.__getitem__) == {"x": gave["a"]}
    with pytest.raises(TooLarge, match="spread it over several tasks"):
        resolve([once, once], results=gave.__getitem__)
    with pytest.raises(TooLarge):
        resolve([{"$item": ""}, once], results=gave.__getitem__, item="x" * 6_000)


def test_what_many_calls_gave_is_not_put_into_one(monkeypatch):
    monkeypatch.setattr(references, "MAX_BYTES", 10_000)
    gave = {"a": ["x" * 6_000] * 2}
    with pytest.raises(TooLarge):
        resolve({"x": reference("a", "")}, results=gave.__getitem__)


@pytest.mark.parametrize("inner", [0, {"a": 1}, [1]], ids=str)
def test_more_values_than_can_be_judged_quickly_are_refused(monkeypatch, inner):
    monkeypatch.setattr(references, "MAX_VALUES", 100)
    for many, is_refused in ((40, False), (101, True)):
        gave = {"a": [inner] * many}
        if is_refused:
            with pytest.raises(TooLarge, match="100 values"):
                resolve({"x": reference("a", "")}, results=gave.__getitem__)
        else:
            resolve({"x": reference("a", "")}, results=gave.__getitem__)


def test_a_list_that_a_task_runs_for_each_of_is_never_too_large(monkeypatch):
    monkeypatch.setattr(references, "MAX_BYTES", 10)
    monkeypatch.setattr(references, "MAX_VALUES", 1)
    gave = {"a": ["x" * 50, 1]}
    assert resolve(reference("a", ""), results=gave.__getitem__) == gave["a"]
