from collections.abc import Sequence

import pytest

from graph.relations import EvidenceSource, Relation, RelationKind
from graph.suggestion.workflow.choose import choose_set
from graph.suggestion.workflow.dag import arrange_tasks
from graph.suggestion.workflow.evidence import count_evidence
from graph.suggestion.workflow.order import WorkflowDag
from graph.suggestion.workflow.wording import write_explanation
from tests.graph.suggestion.workflow.builders import (
    make_context,
    make_reading,
    neighbour,
    ranked,
    ranking,
    tool,
)

STATUS, ADD, COMMIT, NOW = 1, 2, 3, 5
READING = [tool(pk, is_read_only=True) for pk in (STATUS, ADD, COMMIT, NOW)]


def told(
    first: int,
    then: int,
    confidence: float = 0.85,
    *,
    kind: RelationKind = RelationKind.PRECEDES,
    source: EvidenceSource = EvidenceSource.CURATED,
) -> Relation:
    return Relation(first, then, kind, confidence, sources=(source,))


def arranged(
    *tools: int,
    relations: Sequence[Relation] = (),
    given: Sequence = (),
    neighbours: Sequence = (),
    shares: dict | None = None,
    intent: str = "do it",
) -> WorkflowDag:
    likely = ranking(ranked(*tools), neighbours=neighbours, shares=shares)
    what = make_context(*given, relations=relations)
    return arrange_tasks(
        choose_set(likely, what), make_reading(intent), ranking=likely, context=what
    )


def order(found: WorkflowDag) -> list[int]:
    return [task.tool.pk for task in found.tasks]


def waits(found: WorkflowDag) -> dict[int, set[str]]:
    return {task.tool.pk: set(task.depends_on) for task in found.tasks}


@pytest.mark.parametrize("kind", [RelationKind.PRECEDES, RelationKind.PROVIDES])
@pytest.mark.parametrize("source", [EvidenceSource.CURATED, EvidenceSource.IMPORTED])
def test_the_graph_corrects_the_order_of_the_ranker(kind, source):
    found = arranged(COMMIT, STATUS, relations=[told(STATUS, COMMIT, kind=kind, source=source)])
    assert order(found) == [STATUS, COMMIT]
    assert waits(found) == {STATUS: set(), COMMIT: {"status"}}
    assert [one.key[:2] for one in found.reordering_relations] == [(STATUS, COMMIT)]
    assert not found.is_serial, "the graph says that they wait, not only their danger"


def test_doubtful_and_co_use_relations_correct_nothing():
    doubtful = told(STATUS, COMMIT, 0.49)
    together = told(STATUS, COMMIT, 1.0, kind=RelationKind.OFTEN_USED_WITH)
    found = arranged(COMMIT, STATUS, relations=[doubtful, together])
    assert order(found) == [COMMIT, STATUS]
    assert found.reordering_relations == ()


def test_read_only_tools_are_ordered_without_dependencies():
    found = arranged(COMMIT, STATUS, relations=[told(STATUS, COMMIT)], given=READING)
    assert order(found) == [STATUS, COMMIT]
    assert waits(found) == {STATUS: set(), COMMIT: set()}


def test_guesses_of_servers_order_without_dependencies():
    guess = told(STATUS, COMMIT, kind=RelationKind.PROVIDES, source=EvidenceSource.SCHEMA)
    found = arranged(COMMIT, STATUS, relations=[guess])
    assert order(found) == [STATUS, COMMIT]
    assert found.is_serial


def test_people_win_over_servers_then_higher_confidence_wins():
    guess = told(COMMIT, STATUS, 0.99, kind=RelationKind.PROVIDES, source=EvidenceSource.SCHEMA)
    found = arranged(COMMIT, STATUS, relations=[guess, told(STATUS, COMMIT, 0.6)])
    assert order(found) == [STATUS, COMMIT]
    both = [told(STATUS, COMMIT, 0.6), told(COMMIT, STATUS, 0.7)]
    assert order(arranged(STATUS, COMMIT, relations=both)) == [COMMIT, STATUS]


def test_a_dependency_is_stronger_than_a_precedence():
    needs = told(STATUS, COMMIT, 0.6, kind=RelationKind.DEPENDS_ON)
    assert order(arranged(STATUS, COMMIT, relations=[needs, told(STATUS, COMMIT, 1.0)])) == [
        COMMIT,
        STATUS,
    ]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([(0.9, 3)], [COMMIT, STATUS]),
        ([(0.9, 2)], [STATUS, COMMIT]),
        ([(0.5, 30)], [STATUS, COMMIT]),
    ],
)
def test_many_similar_runs_of_the_same_set_outweigh_the_graph(runs, expected):
    past = [neighbour(cosine, COMMIT, STATUS, successes=count) for cosine, count in runs]
    found = arranged(COMMIT, STATUS, relations=[told(STATUS, COMMIT)], neighbours=past)
    assert order(found) == expected


def test_runs_that_disagree_or_called_more_do_not():
    others = [
        neighbour(0.9, COMMIT, STATUS, successes=3),
        neighbour(0.9, STATUS, COMMIT, successes=3),
    ]
    more = [neighbour(0.9, COMMIT, STATUS, NOW, successes=30)]
    for past in (others, more):
        found = arranged(COMMIT, STATUS, relations=[told(STATUS, COMMIT)], neighbours=past)
        assert order(found) == [STATUS, COMMIT]


def test_guesses_of_servers_yield_to_any_run_of_the_set():
    guess = told(STATUS, COMMIT, kind=RelationKind.PROVIDES, source=EvidenceSource.SCHEMA)
    past = [neighbour(0.9, COMMIT, STATUS)]
    assert order(arranged(COMMIT, STATUS, relations=[guess], neighbours=past)) == [COMMIT, STATUS]


@pytest.mark.parametrize(
    ("intent", "expected"),
    [
        ("commit all my changes, then show me the status", [COMMIT, STATUS]),
        ("commit all my changes and show me the status", [STATUS, COMMIT]),
        ("commit all my changes, finally show me the status", [COMMIT, STATUS]),
    ],
)
def test_an_order_stated_in_the_intent_is_followed(intent, expected):
    clauses = len(make_reading(intent).clauses)
    shares = {COMMIT: [1.0, 0.1][:clauses], STATUS: [0.1, 1.0][:clauses]}
    found = arranged(
        COMMIT, STATUS, relations=[told(STATUS, COMMIT)], shares=shares, intent=intent
    )
    assert order(found) == expected


def test_a_sequence_with_repeated_tools_stays_as_in_past_runs():
    found = arranged(COMMIT, STATUS, COMMIT, relations=[told(STATUS, COMMIT)])
    assert order(found) == [COMMIT, STATUS, COMMIT]


def test_a_correction_is_explained():
    likely = ranking(ranked(COMMIT, STATUS))
    what = make_context(relations=[told(STATUS, COMMIT)])
    chosen = choose_set(likely, what)
    dag = arrange_tasks(chosen, make_reading(), ranking=likely, context=what)
    said = write_explanation(
        chosen,
        dag,
        count_evidence(likely, ()),
        reading=make_reading(),
        ranking=likely,
        context=what,
    )
    assert "The order was corrected: git:status comes before git:commit (0.85)." in said
