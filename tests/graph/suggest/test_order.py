from collections.abc import Sequence

import pytest

from graph.relations import Kind, Relation, Source
from graph.suggest.choose import choose
from graph.suggest.dag import Dag, arrange
from graph.suggest.evidence import evidence
from graph.suggest.words import explanation
from tests.graph.suggest.builders import asked, known, neighbour, ranked, ranking, tool

STATUS, ADD, COMMIT, NOW = 1, 2, 3, 5
READING = [tool(pk, is_read_only=True) for pk in (STATUS, ADD, COMMIT, NOW)]


def told(
    first: int,
    then: int,
    confidence: float = 0.85,
    *,
    kind: Kind = Kind.PRECEDES,
    source: Source = Source.CURATED,
) -> Relation:
    return Relation(first, then, kind, confidence, sources=(source,))


def arranged(
    *tools: int,
    relations: Sequence[Relation] = (),
    given: Sequence = (),
    neighbours: Sequence = (),
    shares: dict | None = None,
    intent: str = "do it",
) -> Dag:
    likely = ranking(ranked(*tools), neighbours=neighbours, shares=shares)
    what = known(*given, relations=relations)
    return arrange(choose(likely, what), asked(intent), ranking=likely, known=what)


def order(found: Dag) -> list[int]:
    return [task.tool for task in found.tasks]


def waits(found: Dag) -> dict[int, set[str]]:
    return {task.tool: set(task.depends_on) for task in found.tasks}


@pytest.mark.parametrize("kind", [Kind.PRECEDES, Kind.PROVIDES])
@pytest.mark.parametrize("source", [Source.CURATED, Source.IMPORTED])
def test_what_the_graph_says_comes_first_corrects_the_ranker(kind, source):
    found = arranged(COMMIT, STATUS, relations=[told(STATUS, COMMIT, kind=kind, source=source)])
    assert order(found) == [STATUS, COMMIT]
    assert waits(found) == {STATUS: set(), COMMIT: {"status"}}
    assert [one.key[:2] for one in found.moved] == [(STATUS, COMMIT)]
    assert not found.is_serial, "the graph says that they wait, not only their danger"


def test_what_is_doubtful_or_only_goes_together_corrects_nothing():
    doubtful = told(STATUS, COMMIT, 0.49)
    together = told(STATUS, COMMIT, 1.0, kind=Kind.OFTEN_USED_WITH)
    found = arranged(COMMIT, STATUS, relations=[doubtful, together])
    assert order(found) == [COMMIT, STATUS]
    assert found.moved == ()


def test_tools_that_only_read_are_put_in_order_and_wait_for_nothing():
    found = arranged(COMMIT, STATUS, relations=[told(STATUS, COMMIT)], given=READING)
    assert order(found) == [STATUS, COMMIT]
    assert waits(found) == {STATUS: set(), COMMIT: set()}


def test_what_servers_alone_say_orders_but_is_no_reason_to_wait():
    guess = told(STATUS, COMMIT, kind=Kind.PROVIDES, source=Source.SCHEMA)
    found = arranged(COMMIT, STATUS, relations=[guess])
    assert order(found) == [STATUS, COMMIT]
    assert found.is_serial


def test_a_person_is_believed_before_a_server_and_the_surer_before_the_less_sure():
    guess = told(COMMIT, STATUS, 0.99, kind=Kind.PROVIDES, source=Source.SCHEMA)
    found = arranged(COMMIT, STATUS, relations=[guess, told(STATUS, COMMIT, 0.6)])
    assert order(found) == [STATUS, COMMIT]
    both = [told(STATUS, COMMIT, 0.6), told(COMMIT, STATUS, 0.7)]
    assert order(arranged(STATUS, COMMIT, relations=both)) == [COMMIT, STATUS]


def test_a_dependency_is_stronger_than_what_comes_before():
    needs = told(STATUS, COMMIT, 0.6, kind=Kind.DEPENDS_ON)
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
def test_many_similar_runs_of_the_very_set_outweigh_the_graph(runs, expected):
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


def test_what_servers_alone_say_yields_to_any_run_of_the_set():
    guess = told(STATUS, COMMIT, kind=Kind.PROVIDES, source=Source.SCHEMA)
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
def test_an_intent_that_says_what_comes_then_is_followed(intent, expected):
    clauses = len(asked(intent).reading.clauses)
    shares = {COMMIT: [1.0, 0.1][:clauses], STATUS: [0.1, 1.0][:clauses]}
    found = arranged(
        COMMIT, STATUS, relations=[told(STATUS, COMMIT)], shares=shares, intent=intent
    )
    assert order(found) == expected


def test_a_sequence_in_which_a_tool_recurs_stays_as_past_runs_had_it():
    found = arranged(COMMIT, STATUS, COMMIT, relations=[told(STATUS, COMMIT)])
    assert order(found) == [COMMIT, STATUS, COMMIT]


def test_a_correction_is_explained():
    likely = ranking(ranked(COMMIT, STATUS))
    what = known(relations=[told(STATUS, COMMIT)])
    chosen = choose(likely, what)
    dag = arrange(chosen, asked(), ranking=likely, known=what)
    said = explanation(
        chosen, dag, evidence(likely, ()), asked=asked(), ranking=likely, known=what
    )
    assert "The order was corrected: git:status comes before git:commit (0.85)." in said
