import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.patterns import (
    MAX_TASKS,
    InvalidRun,
    abstract_workflow,
    compute_workflow_hash,
    normalize_intent,
    workflow_to_document,
)
from tests.graph.histories import taken, task

NAMES = {1: "git:log", 2: "mail:send", 3: "time:now"}


def hashed(*tasks):
    return compute_workflow_hash(workflow_to_document(abstract_workflow(tasks), NAMES))


@st.composite
def workflows(draw):
    """Tasks in an order in which they can run."""
    count = draw(st.integers(1, 8))
    tasks = []
    for place in range(count):
        before = [one.id for one in tasks]
        after = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
        tool = draw(st.sampled_from(sorted(NAMES)))
        tasks.append(task(f"n{place}", tool, *after, text=draw(st.text(max_size=3))))
    return tasks


def test_equal_workflows_have_equal_hashes_regardless_of_ids_and_values():
    one = hashed(task("a", 1, path="/x"), task("b", 2, "a", to="ann"))
    assert one == hashed(task("first", 1, path="/y", n=3), task("then", 2, "first"))


@pytest.mark.parametrize(
    "other",
    [
        [task("a", 1), task("b", 3, "a")],
        [task("a", 1), task("b", 2)],
        [task("a", 1), task("b", 2, "a", body=taken("a"))],
        [task("a", 1), task("b", 2, "a"), task("c", 2, "b")],
        [task("b", 2), task("a", 1, "b")],
    ],
    ids=["tool", "order", "reference", "more", "the other way round"],
)
def test_different_workflows_have_different_hashes(other):
    assert hashed(task("a", 1), task("b", 2, "a")) != hashed(*other)


@given(workflows())
def test_a_workflow_is_the_same_when_read_from_its_own_form(tasks):
    again = abstract_workflow(abstract_workflow(tasks).tasks)
    assert again.tasks == abstract_workflow(tasks).tasks


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([], "no tasks"),
        ([task("", 1)], "no id"),
        ([task("a", 1), task("a", 2)], "two tasks have the id 'a'"),
        ([task("a", 1, "b")], "'a' depends on 'b', which does not exist"),
        ([task("a", 1, x=taken("z"))], "'a' depends on 'z', which does not exist"),
        ([task("a", 1, "a")], "'a' depends on itself"),
        ([task("a", 1, "b"), task("b", 2, "a")], "depend on each other: 'a', 'b'"),
        ([task(f"t{n}", 1) for n in range(MAX_TASKS + 1)], "at most 100"),
    ],
)
def test_an_invalid_workflow_is_refused_with_the_reason(tasks, message):
    with pytest.raises(InvalidRun, match=message):
        abstract_workflow(tasks)


def test_deep_nesting_is_refused():
    value = 1
    for _ in range(200):
        value = [value]
    with pytest.raises(InvalidRun, match="nested deeper"):
        abstract_workflow([task("a", 1, x=value)])


@pytest.mark.parametrize("text", ["Book a flight", " book  a FLIGHT. ", "Book a flight!\n"])
def test_an_intent_is_recognised_by_its_words(text):
    assert normalize_intent(text) == "book a flight"
