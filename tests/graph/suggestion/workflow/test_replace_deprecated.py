"""Superseded tools are swapped, and repetitions are limited."""

import pytest

from graph.relations import EvidenceSource, Relation, RelationKind
from graph.suggestion.workflow.build import build_workflow
from graph.suggestion.workflow.replace_deprecated import MAX_REPEATS, replace_deprecated
from tests.graph.suggestion.workflow.builders import (
    make_context,
    make_reading,
    ranked,
    ranking,
    tool,
)


def replaced(confidence=0.9, source=EvidenceSource.CURATED):
    """Tool 1 replaces tool 2."""
    return Relation(1, 2, RelationKind.REPLACES, confidence, sources=(source,))


def names(found):
    return [task.tool.tool for task in found.tasks]


def test_a_tool_is_swapped_for_its_replacement():
    likely = ranking(ranked(2, 5), probabilities={2: 0.7, 5: 0.9}, shares={2: [0.9], 5: [0.1]})
    found = build_workflow(make_reading(), likely, context=make_context(relations=[replaced()]))
    assert names(found) == ["git:status", "time:now"]
    assert found.confidence == 0.8
    assert "git:add is replaced by git:status, which is used instead." in found.explanation
    assert any("git:status: probability 0.70" in text for text in found.explanation)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("relation", "new"),
    [
        (replaced(confidence=0.4), {}),
        (replaced(source=EvidenceSource.SCHEMA), {}),
        (replaced(), {"obstacle": "is disabled"}),
    ],
)
def test_an_unsure_or_uncallable_replacement_is_not_used(relation, new):
    found = build_workflow(
        make_reading(),
        ranking(ranked(2)),
        context=make_context(tool(1, **new), relations=[relation]),
    )
    assert names(found) == ["git:add"]


def test_the_old_tool_is_dropped_from_a_set_with_both():
    found = build_workflow(
        make_reading(), ranking(ranked(2, 1, 5)), context=make_context(relations=[replaced()])
    )
    assert names(found) == ["git:status", "time:now"]


def test_equal_sets_are_merged_with_the_higher_confidence():
    sets = ranking(ranked(2, confidence=0.2), ranked(1, confidence=0.5), ranked(5, confidence=0.1))
    found = build_workflow(make_reading(), sets, context=make_context(relations=[replaced()]))
    assert (names(found), found.confidence) == (["git:status"], 0.5)
    assert [one.tools for one in found.alternatives] == [(5,)]


def test_after_merging_the_most_confident_set_goes_first():
    sets = ranking(
        ranked(2, 5, confidence=0.1), ranked(2, confidence=0.3), ranked(1, confidence=0.2)
    )
    found = build_workflow(make_reading(), sets, context=make_context(relations=[replaced()]))
    assert (names(found), found.confidence) == (["git:status"], 0.3)


def test_mutual_replacements_are_swapped_once():
    both = [
        replaced(),
        Relation(2, 1, RelationKind.REPLACES, 0.9, sources=(EvidenceSource.CURATED,)),
    ]
    assert names(
        build_workflow(make_reading(), ranking(ranked(2)), context=make_context(relations=both))
    ) == ["git:status"]


def test_repetitions_of_a_tool_are_limited():
    found = build_workflow(make_reading(), ranking(ranked(*[1] * 100, 2)), context=make_context())
    assert names(found) == ["git:status"] * MAX_REPEATS + ["git:add"]


def test_without_replacements_the_ranking_is_unchanged():
    sets = ranking(ranked(1, 1), ranked(2))
    assert replace_deprecated(sets, make_context()) == (sets, {})


def test_without_a_likely_tool_only_the_nearest_are_named():
    faint = ranking(ranked(1, 2), ranked(5), probabilities={1: 0.14, 2: 0.1, 5: 0.05})
    found = build_workflow(make_reading(), faint, context=make_context())
    assert (found.tasks, found.confidence) == ((), 0.0)
    assert found.explanation[0].startswith("Nothing fits well enough to suggest")
    assert "git:status (0.14), git:add (0.10), time:now (0.05)" in found.explanation[1]
    assert [one.tools for one in found.alternatives] == [(1, 2), (5,)]


def test_an_unlikely_destructive_tool_is_never_suggested():
    likely = ranking(
        ranked(4, 1, confidence=0.3),
        ranked(4, confidence=0.2),
        ranked(1, confidence=0.1),
        probabilities={4: 0.29, 1: 0.5},
    )
    found = build_workflow(
        make_reading(), likely, context=make_context(tool(4, is_destructive=True))
    )
    assert names(found) == ["git:status"]
    assert found.alternatives == ()
    assert any("mail:send may destroy something" in text for text in found.explanation)
