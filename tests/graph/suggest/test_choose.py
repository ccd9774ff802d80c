from hypothesis import given
from hypothesis import strategies as st

from graph.relations import Kind, Relation
from graph.suggest.choose import CHANGED_SHARE, MAX_REQUIRED, choose, excluding
from tests.graph import drawn
from tests.graph.suggest.builders import excludes, known, needs, ranked, ranking, tool


def test_the_likeliest_set_is_chosen_as_it_is():
    chosen = choose(ranking(ranked(1, 2), ranked(1)), known())
    assert (chosen.tools, chosen.confidence, chosen.changes) == ((1, 2), 0.8, ())


def test_without_any_set_there_is_nothing():
    assert choose(ranking(None), known()) is None


def test_what_tools_require_stands_before_them_and_is_not_counted_in_the_confidence():
    chosen = choose(ranking(ranked(3)), known(relations=[needs(3, 2), needs(2, 1)]))
    assert chosen.tools == (1, 2, 3)
    assert chosen.required == {1: 2, 2: 3}
    assert chosen.confidence == 0.8


def test_what_is_ranked_anyway_is_not_added():
    chosen = choose(ranking(ranked(3, 2)), known(relations=[needs(3, 2)]))
    assert (chosen.tools, chosen.required) == ((3, 2), {})


def test_an_optional_dependency_brings_nothing_along():
    relations = [needs(3, 2, required=False), needs(3, 1, 0.3)]
    assert choose(ranking(ranked(3)), known(relations=relations)).tools == (3,)


def test_what_is_required_and_cannot_be_called_is_lacking():
    off = tool(2, is_usable=False, obstacle="is switched off")
    chosen = choose(ranking(ranked(3)), known(off, relations=[needs(3, 2)]))
    assert (chosen.tools, [one.target for one in chosen.lacking]) == ((3,), [2])


def test_tools_that_exclude_each_other_give_way_to_the_next_set():
    chosen = choose(
        ranking(ranked(1, 2, confidence=0.7), ranked(1, 4, confidence=0.1)),
        known(relations=[excludes(1, 2)]),
    )
    assert (chosen.tools, chosen.confidence) == ((1, 4), 0.1)
    (said,) = chosen.changes
    assert "git:status and git:add exclude each other" in said
    assert "confidence 0.10 instead of 0.70" in said


def test_what_a_tool_requires_may_be_what_excludes_another():
    relations = [needs(3, 2), excludes(2, 4)]
    chosen = choose(ranking(ranked(3, 4), ranked(4, confidence=0.1)), known(relations=relations))
    assert chosen.tools == (4,)


def test_where_no_set_can_stand_the_less_likely_rival_is_taken_out():
    likely = ranking(ranked(1, 2, 4), probabilities={1: 0.4, 2: 0.9, 4: 0.6})
    chosen = choose(likely, known(relations=[excludes(1, 2)]))
    assert chosen.tools == (2, 4)
    assert chosen.confidence == CHANGED_SHARE * 0.8
    assert "git:status was taken out" in chosen.changes[0]
    assert "from 0.80 to 0.40" in chosen.changes[0]


def test_a_tool_and_what_replaces_it_never_stand_together():
    replaced = [Relation(1, 2, Kind.REPLACES, 0.9)]
    both = ranking(ranked(1, 2), probabilities={1: 0.2, 2: 0.9})
    chosen = choose(both, known(relations=replaced))
    assert chosen.tools == (1,)
    assert "git:add was taken out, since git:status replaces git:add" in chosen.changes[0]
    one = ranking(ranked(1, 2), ranked(2, 4, confidence=0.3))
    assert choose(one, known(relations=replaced)).tools == (2, 4)
    assert choose(both, known(relations=[replaced[0]._replace(confidence=0.4)])).tools == (1, 2)


def test_a_tool_that_cannot_be_called_is_taken_out():
    off = tool(2, is_usable=False, obstacle="is switched off")
    chosen = choose(ranking(ranked(1, 2)), known(off))
    assert chosen.tools == (1,)
    assert "git:add is switched off" in chosen.changes[0]


def test_where_no_tool_can_be_called_there_is_nothing():
    assert choose(ranking(ranked(1)), known(tool(1, is_usable=False))) is None
    assert choose(ranking(ranked(99)), known()) is None


def test_no_more_is_added_than_a_workflow_bears():
    many = [tool(pk) for pk in range(100, 140)]
    chosen = choose(ranking(ranked(3)), known(*many, relations=[needs(3, one.pk) for one in many]))
    assert len(chosen.required) == MAX_REQUIRED
    assert chosen.beyond == len(many) - MAX_REQUIRED


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    drawn.relations(
        (Kind.DEPENDS_ON, Kind.MUTUALLY_EXCLUSIVE, Kind.ALTERNATIVE_TO), tools=5, most=12
    ),
)
def test_no_two_chosen_tools_ever_exclude_each_other(tools: list[int], relations: list[Relation]):
    told = known(relations=relations)
    chosen = choose(ranking(ranked(*tools)), told)
    assert chosen is None or excluding(told.topology, chosen.tools) is None


def test_where_no_tool_clearly_fits_the_surest_set_goes_first():
    best, surer = ranked(1, 4, 5, confidence=0.02), ranked(4, confidence=0.2)
    faint = ranking(best, surer, probabilities={1: 0.1, 4: 0.15, 5: 0.1})
    assert choose(faint, known()).tools == (4,)
    clear = ranking(best, surer, probabilities={1: 0.3, 4: 0.15, 5: 0.1})
    assert choose(clear, known()).tools == (1, 4, 5)
