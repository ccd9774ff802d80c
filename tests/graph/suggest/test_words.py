from dataclasses import replace

from graph.relations import Kind, Relation
from graph.suggest.suggest import suggest
from graph.suggest.words import MAX_QUOTED, MAX_TOOLS, MAX_WARNINGS
from tests.graph.suggest.builders import (
    asked,
    known,
    needs,
    neighbour,
    ranked,
    ranking,
    tool,
)


def told(likely, what=None, **values):
    return suggest(what or asked(), likely, known=known(**values)).explanation


def test_similar_intents_that_other_tools_served_are_told():
    likely = ranking(ranked(1), neighbours=[neighbour(0.8, 2), neighbour(0.7, 3)], history=30)
    assert "Of 2 similar past intents none was served by them." in told(likely)


def test_of_a_large_workflow_the_first_tools_are_told_one_by_one():
    many = range(100, 112)
    likely = ranking(ranked(*many), probabilities=dict.fromkeys(many, 0.5))
    told_of = suggest(asked(), likely, known=known(*map(tool, many))).explanation
    assert sum("probability" in sentence for sentence in told_of) == MAX_TOOLS
    assert "And 4 more tools." in told_of


def test_a_tool_that_no_clause_speaks_of_is_told_without_one():
    likely = ranking(ranked(1), shares={1: [0.4]}, probabilities={1: 0.5})
    assert "git:status: probability 0.50." in told(likely)


def test_shares_of_another_number_of_clauses_are_not_told():
    assert not any("fits" in text for text in told(ranking(ranked(1), shares={1: [1.0, 0.0]})))


def test_a_long_clause_is_cut():
    likely = ranking(ranked(1), shares={1: [1.0]})
    (sentence,) = [text for text in told(likely, asked("x" * 300)) if "fits" in text]
    assert sentence == f"git:status: fits “{'x' * (MAX_QUOTED - 1)}…”."


def test_of_many_added_tools_the_first_are_named():
    needed = [tool(pk) for pk in range(100, 110)]
    found = suggest(
        asked(),
        ranking(ranked(3)),
        known=known(*needed, relations=[needs(3, one.pk) for one in needed]),
    )
    assert sum("was added" in text for text in found.explanation) == MAX_TOOLS
    assert "And 2 more required tools were added." in found.explanation
    assert any("without the 10 added" in text for text in found.explanation)


def test_of_many_warnings_the_first_are_told():
    off = [tool(pk, is_usable=False, obstacle="is switched off") for pk in range(100, 115)]
    found = suggest(
        asked(),
        ranking(ranked(3)),
        known=known(*off, relations=[needs(3, one.pk) for one in off]),
    )
    assert len(found.warnings) == MAX_WARNINGS + 1
    assert found.warnings[-1] == "and 5 more"


def test_what_is_required_beyond_bounds_is_counted():
    needed = [tool(pk) for pk in range(100, 125)]
    found = suggest(
        asked(),
        ranking(ranked(3)),
        known=known(*needed, relations=[needs(3, one.pk) for one in needed]),
    )
    assert found.warnings == ("more than 20 tools are required; 5 of them are left out",)


def test_a_replacement_that_the_caller_may_not_know_is_not_named():
    hidden = [Relation(99, 1, Kind.REPLACES, 1.0)]
    assert suggest(asked(), ranking(ranked(1)), known=known(relations=hidden)).warnings == ()


def test_of_few_intents_that_ran_often_only_new_ones_stay_uncertain():
    few = replace(ranking(ranked(1), history=5), counted=20)
    sentences = " ".join(told(few))
    assert (
        "in a new intent's workflow is at most 0.69 until 20 different past intents" in sentences
    )
    assert "runs have succeeded" not in sentences


def test_where_no_tool_clearly_fits_a_warning_says_so():
    faint = ranking(ranked(1), probabilities={1: 0.15})
    found = suggest(asked(), faint, known=known())
    assert "no tool clearly fits the intent: the likeliest has a probability of 0.15" in (
        found.warnings
    )
    clear = ranking(ranked(1), probabilities={1: 0.6})
    assert suggest(asked(), clear, known=known()).warnings == ()
