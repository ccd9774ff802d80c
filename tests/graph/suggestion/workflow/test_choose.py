import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.relations import Relation, RelationKind
from graph.suggestion.workflow.choose import (
    CHANGED_SET_FACTOR,
    MAX_REQUIRED_TOOLS,
    MIN_ASKED_SHARE,
    choose_set,
    find_exclusion,
)
from tests.graph import drawn
from tests.graph.suggestion.workflow.builders import (
    excludes,
    make_context,
    needs,
    ranked,
    ranking,
    tool,
)


def test_the_likeliest_set_is_chosen_unchanged():
    chosen = choose_set(ranking(ranked(1, 2), ranked(1)), make_context())
    assert (chosen.tools, chosen.confidence, chosen.changes) == ((1, 2), 0.8, ())


def test_without_any_set_there_is_nothing():
    assert choose_set(ranking(None), make_context()) is None


def test_required_tools_precede_and_do_not_change_the_confidence():
    chosen = choose_set(ranking(ranked(3)), make_context(relations=[needs(3, 2), needs(2, 1)]))
    assert chosen.tools == (1, 2, 3)
    assert chosen.required_by == {1: 2, 2: 3}
    assert chosen.confidence == 0.8


def test_ranked_requirements_are_not_added():
    chosen = choose_set(ranking(ranked(3, 2)), make_context(relations=[needs(3, 2)]))
    assert (chosen.tools, chosen.required_by) == ((3, 2), {})


def test_an_optional_dependency_adds_nothing():
    relations = [needs(3, 2, required=False), needs(3, 1, 0.3)]
    assert choose_set(ranking(ranked(3)), make_context(relations=relations)).tools == (3,)


def test_an_uncallable_requirement_is_missing():
    off = tool(2, obstacle="is disabled")
    chosen = choose_set(ranking(ranked(3)), make_context(off, relations=[needs(3, 2)]))
    assert (chosen.tools, [one.target for one in chosen.missing_requirements]) == ((3,), [2])


def test_tools_that_exclude_each_other_give_way_to_the_next_set():
    chosen = choose_set(
        ranking(ranked(1, 2, confidence=0.7), ranked(1, 4, confidence=0.1)),
        make_context(relations=[excludes(1, 2)]),
    )
    assert (chosen.tools, chosen.confidence) == ((1, 4), 0.1)
    (said,) = chosen.changes
    assert "git:status and git:add exclude each other" in said
    assert "confidence 0.10 instead of 0.70" in said


def test_a_required_tool_may_exclude_another():
    relations = [needs(3, 2), excludes(2, 4)]
    chosen = choose_set(
        ranking(ranked(3, 4), ranked(4, confidence=0.1)), make_context(relations=relations)
    )
    assert chosen.tools == (4,)


def test_without_a_valid_set_the_less_likely_rival_is_removed():
    likely = ranking(ranked(1, 2, 4), probabilities={1: 0.4, 2: 0.9, 4: 0.6})
    chosen = choose_set(likely, make_context(relations=[excludes(1, 2)]))
    assert chosen.tools == (2, 4)
    assert chosen.confidence == CHANGED_SET_FACTOR * 0.8
    assert "git:status was removed" in chosen.changes[0]
    assert "from 0.80 to 0.40" in chosen.changes[0]


def test_a_tool_and_its_replacement_are_never_combined():
    replaced = [Relation(1, 2, RelationKind.REPLACES, 0.9)]
    both = ranking(ranked(1, 2), probabilities={1: 0.2, 2: 0.9})
    chosen = choose_set(both, make_context(relations=replaced))
    assert chosen.tools == (1,)
    assert "git:add was removed because git:status replaces git:add" in chosen.changes[0]
    one = ranking(ranked(1, 2), ranked(2, 4, confidence=0.3))
    assert choose_set(one, make_context(relations=replaced)).tools == (2, 4)
    assert choose_set(
        both, make_context(relations=[replaced[0]._replace(confidence=0.4)])
    ).tools == (
        1,
        2,
    )


def test_an_uncallable_tool_is_removed():
    off = tool(2, obstacle="is disabled")
    chosen = choose_set(ranking(ranked(1, 2)), make_context(off))
    assert chosen.tools == (1,)
    assert "git:add is disabled" in chosen.changes[0]


def test_without_callable_tools_nothing_is_chosen():
    assert choose_set(ranking(ranked(1)), make_context(tool(1, obstacle="is disabled"))) is None
    assert choose_set(ranking(ranked(99)), make_context()) is None


def test_the_number_of_added_tools_is_bounded():
    many = [tool(pk) for pk in range(100, 140)]
    chosen = choose_set(
        ranking(ranked(3)), make_context(*many, relations=[needs(3, one.pk) for one in many])
    )
    assert len(chosen.required_by) == MAX_REQUIRED_TOOLS
    assert chosen.omitted_count == len(many) - MAX_REQUIRED_TOOLS


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    drawn.relations(
        (RelationKind.DEPENDS_ON, RelationKind.MUTUALLY_EXCLUSIVE, RelationKind.ALTERNATIVE_TO),
        tools=5,
        most=12,
    ),
)
def test_no_two_chosen_tools_ever_exclude_each_other(tools: list[int], relations: list[Relation]):
    told = make_context(relations=relations)
    chosen = choose_set(ranking(ranked(*tools)), told)
    assert chosen is None or find_exclusion(told.topology, chosen.tools) is None


@pytest.mark.parametrize(
    ("shares", "is_chosen"),
    [
        ([0.29], False),
        ([0.1, 0.29, 0.05], False),
        ([MIN_ASKED_SHARE], True),
        ([0.1, MIN_ASKED_SHARE], True),
    ],
)
@pytest.mark.parametrize("has_other", [True, False])
def test_past_runs_alone_add_no_tool_that_may_destroy_something(shares, is_chosen, has_other):
    others = [ranked(1, confidence=0.3)] if has_other else []
    taught = ranking(
        ranked(1, 4, confidence=0.94),
        *others,
        probabilities={1: 0.95, 4: 0.99},
        shares={1: [1.0], 4: shares},
    )
    chosen = choose_set(taught, make_context(tool(4, is_destructive=True)))
    assert chosen.tools == ((1, 4) if is_chosen else (1,))
    assert chosen.confidence == (0.94 if is_chosen else 0.3 if has_other else 0.47)
    said = "mail:send may destroy something, and only past runs suggest it"
    assert any(said in change for change in chosen.changes) is not is_chosen
    assert choose_set(taught, make_context(tool(4))).tools == (1, 4), "it destroys nothing"


def test_without_a_clear_fit_the_most_confident_set_goes_first():
    best, surer = ranked(1, 4, 5, confidence=0.02), ranked(4, confidence=0.2)
    faint = ranking(best, surer, probabilities={1: 0.1, 4: 0.15, 5: 0.1})
    assert choose_set(faint, make_context()).tools == (4,)
    clear = ranking(best, surer, probabilities={1: 0.3, 4: 0.15, 5: 0.1})
    assert choose_set(clear, make_context()).tools == (1, 4, 5)
