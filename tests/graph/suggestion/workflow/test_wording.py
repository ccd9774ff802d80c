import pytest

from graph.relations import Relation, RelationKind
from graph.suggestion.binding.tasks import SuggestedTask
from graph.suggestion.intent.conditions import find_conditions
from graph.suggestion.workflow.build import build_workflow
from graph.suggestion.workflow.wording import (
    MAX_QUOTED,
    MAX_TOOLS,
    write_conditions,
)
from tests.graph.suggestion.workflow.builders import (
    make_context,
    make_reading,
    needs,
    neighbour,
    ranked,
    ranking,
    tool,
)


def told(likely, what=None, **values):
    return build_workflow(
        what or make_reading(), likely, context=make_context(**values)
    ).explanation


def test_similar_intents_with_other_tools_are_reported():
    likely = ranking(ranked(1), neighbours=[neighbour(0.8, 2), neighbour(0.7, 3)], history=30)
    assert "None of 2 similar past intents used them." in told(likely)


def test_only_the_first_tools_of_a_large_workflow_are_explained():
    many = range(100, 112)
    likely = ranking(ranked(*many), probabilities=dict.fromkeys(many, 0.5))
    told_of = build_workflow(
        make_reading(), likely, context=make_context(*map(tool, many))
    ).explanation
    assert sum("probability" in sentence for sentence in told_of) == MAX_TOOLS
    assert "And 4 more tools." in told_of


def test_a_tool_without_a_clause_is_explained_without_one():
    likely = ranking(ranked(1), shares={1: [0.4]}, probabilities={1: 0.5})
    assert "git:status: probability 0.50." in told(likely)


def test_shares_of_another_number_of_clauses_are_ignored():
    assert not any("fits" in text for text in told(ranking(ranked(1), shares={1: [1.0, 0.0]})))


def test_a_long_clause_is_cut():
    likely = ranking(ranked(1), shares={1: [1.0]})
    (sentence,) = [text for text in told(likely, make_reading("x" * 300)) if "fits" in text]
    assert sentence == f"git:status: fits “{'x' * (MAX_QUOTED - 1)}…”."


def test_only_the_first_added_tools_are_named():
    needed = [tool(pk) for pk in range(100, 110)]
    found = build_workflow(
        make_reading(),
        ranking(ranked(3)),
        context=make_context(*needed, relations=[needs(3, one.pk) for one in needed]),
    )
    assert sum("was added" in text for text in found.explanation) == MAX_TOOLS
    assert "And 2 more required tools were added." in found.explanation
    assert any("without the 10 added" in text for text in found.explanation)


def test_requirements_beyond_the_limit_are_counted():
    needed = [tool(pk) for pk in range(100, 125)]
    found = build_workflow(
        make_reading(),
        ranking(ranked(3)),
        context=make_context(*needed, relations=[needs(3, one.pk) for one in needed]),
    )
    assert found.warnings == ("more than 20 tools are required; 5 of them are left out",)


def test_a_hidden_replacement_is_not_named():
    hidden = [Relation(99, 1, RelationKind.REPLACES, 1.0)]
    assert (
        build_workflow(
            make_reading(), ranking(ranked(1)), context=make_context(relations=hidden)
        ).warnings
        == ()
    )


def test_without_a_clear_fit_there_is_a_warning():
    faint = ranking(ranked(1), probabilities={1: 0.15})
    found = build_workflow(make_reading(), faint, context=make_context())
    assert "no tool clearly fits the intent: the most likely has a probability of 0.15" in (
        found.warnings
    )
    clear = ranking(ranked(1), probabilities={1: 0.6})
    assert build_workflow(make_reading(), clear, context=make_context()).warnings == ()


@pytest.mark.parametrize(
    ("intent", "named"),
    [
        ("show the status; if it is clean, commit it", "commit"),
        ("show the status, and if it is clean, commit it", "commit"),
        ("show the status, if it is there, and commit it", "status, commit"),
    ],
)
def test_a_condition_that_begins_a_clause_is_one_of_what_follows(intent, named):
    tasks = [SuggestedTask(id=name, tool=tool(pk)) for pk, name in ((1, "status"), (3, "commit"))]
    spans = {1: (0, intent.index("commit")), 3: (intent.index("commit"), len(intent))}
    (warning,) = write_conditions(find_conditions(intent), tasks, spans, text=intent)
    assert warning.endswith(f"before you run {named}")
