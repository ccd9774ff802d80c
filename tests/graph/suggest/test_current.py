"""What was superseded is exchanged, and repetitions are few."""

import pytest

from graph.relations import Kind, Relation, Source
from graph.suggest.current import MAX_REPEATS, current
from graph.suggest.suggest import suggest
from tests.graph.suggest.builders import asked, known, ranked, ranking, tool


def replaced(confidence=0.9, source=Source.CURATED):
    """Tool 1 replaces tool 2."""
    return Relation(1, 2, Kind.REPLACES, confidence, sources=(source,))


def names(found):
    return [task.name for task in found.tasks]


def test_a_tool_gives_way_to_the_one_that_replaces_it():
    likely = ranking(ranked(2, 5), probabilities={2: 0.7, 5: 0.9}, shares={2: [0.9], 5: [0.1]})
    found = suggest(asked(), likely, known=known(relations=[replaced()]))
    assert names(found) == ["git:status", "time:now"]
    assert found.confidence == 0.8
    assert "git:add is replaced by git:status, which stands in its place." in found.explanation
    assert any("git:status: probability 0.70" in text for text in found.explanation)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("relation", "new"),
    [
        (replaced(confidence=0.4), {}),
        (replaced(source=Source.SCHEMA), {}),
        (replaced(), {"is_usable": False, "obstacle": "is switched off"}),
    ],
)
def test_what_is_unsure_or_cannot_be_called_takes_no_place(relation, new):
    found = suggest(asked(), ranking(ranked(2)), known=known(tool(1, **new), relations=[relation]))
    assert names(found) == ["git:add"]


def test_of_a_set_that_holds_both_the_old_one_goes():
    found = suggest(asked(), ranking(ranked(2, 1, 5)), known=known(relations=[replaced()]))
    assert names(found) == ["git:status", "time:now"]


def test_sets_that_come_out_the_same_are_one_as_likely_as_the_likelier():
    sets = ranking(ranked(2, confidence=0.2), ranked(1, confidence=0.5), ranked(5, confidence=0.1))
    found = suggest(asked(), sets, known=known(relations=[replaced()]))
    assert (names(found), found.confidence) == (["git:status"], 0.5)
    assert [one.tools for one in found.alternatives] == [(5,)]


def test_where_sets_become_one_the_surest_goes_first():
    sets = ranking(
        ranked(2, 5, confidence=0.1), ranked(2, confidence=0.3), ranked(1, confidence=0.2)
    )
    found = suggest(asked(), sets, known=known(relations=[replaced()]))
    assert (names(found), found.confidence) == (["git:status"], 0.3)


def test_what_replaces_each_other_is_exchanged_once():
    both = [replaced(), Relation(2, 1, Kind.REPLACES, 0.9, sources=(Source.CURATED,))]
    assert names(suggest(asked(), ranking(ranked(2)), known=known(relations=both))) == [
        "git:status"
    ]


def test_a_tool_that_a_run_called_a_hundred_times_stands_a_few_times():
    found = suggest(asked(), ranking(ranked(*[1] * 100, 2)), known=known())
    assert names(found) == ["git:status"] * MAX_REPEATS + ["git:add"]


def test_where_nothing_is_exchanged_the_ranking_is_the_same():
    sets = ranking(ranked(1, 1), ranked(2))
    assert current(sets, known()) == (sets, {})


def test_where_no_tool_is_likely_there_is_no_workflow_and_the_nearest_are_named():
    faint = ranking(ranked(1, 2), ranked(5), probabilities={1: 0.14, 2: 0.1, 5: 0.05})
    found = suggest(asked(), faint, known=known())
    assert (found.tasks, found.confidence) == ((), 0.0)
    assert found.explanation[0].startswith("Nothing fits well enough to suggest it")
    assert "git:status (0.14), git:add (0.10), time:now (0.05)" in found.explanation[1]
    assert [one.tools for one in found.alternatives] == [(1, 2), (5,)]


def test_what_may_destroy_something_and_is_unlikely_stands_nowhere():
    likely = ranking(
        ranked(4, 1, confidence=0.3),
        ranked(4, confidence=0.2),
        ranked(1, confidence=0.1),
        probabilities={4: 0.29, 1: 0.5},
    )
    found = suggest(asked(), likely, known=known(tool(4, is_destructive=True)))
    assert names(found) == ["git:status"]
    assert found.alternatives == ()
    assert any("mail:send may destroy something" in text for text in found.explanation)
