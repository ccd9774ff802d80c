import pytest

from graph.relations import EvidenceSource, Relation, RelationKind
from graph.suggestion.workflow.excerpt import MAX_CONSIDERED, find_considered
from graph.topology import Topology
from tests.graph.suggestion.workflow.builders import ranked, ranking


def told(
    source: int,
    target: int,
    confidence: float = 0.9,
    *,
    kind: RelationKind = RelationKind.DEPENDS_ON,
    by: EvidenceSource = EvidenceSource.CURATED,
) -> Relation:
    return Relation(source, target, kind, confidence, sources=(by,))


def found(*relations: Relation, known: tuple[int, ...] = (1,), usable=lambda _pk: True):
    likely = ranking(ranked(1), probabilities=dict.fromkeys(known, 0.5))
    return find_considered(likely, Topology(relations), usable=usable)


@pytest.mark.parametrize(
    "by", [EvidenceSource.CURATED, EvidenceSource.IMPORTED, EvidenceSource.OBSERVED]
)
def test_requirements_and_related_tools_are_considered(by):
    assert found(told(1, 7, by=by), told(8, 1, 0.6, kind=RelationKind.PRECEDES, by=by)) == (7, 8)


def test_dependents_doubtful_and_ranked_tools_are_not_considered():
    assert found(told(7, 1), told(1, 8, 0.4), told(1, 9), known=(1, 9)) == ()


def test_guesses_of_servers_add_no_tools():
    hostile = told(1, 7, 1.0, kind=RelationKind.PROVIDES, by=EvidenceSource.SCHEMA)
    assert found(hostile) == ()
    assert found(hostile, told(1, 7, 0.1, kind=RelationKind.PRECEDES)) == ()
    uncounted = Relation(
        1,
        8,
        RelationKind.OFTEN_USED_WITH,
        0.9,
        sources=(EvidenceSource.OBSERVED,),
        detail={"successes": 0.0, "failures": 0.0},
    )
    assert found(uncounted) == ()


def test_paths_do_not_use_guesses_of_servers():
    assert found(told(1, 7), told(7, 8, kind=RelationKind.PROVIDES, by=EvidenceSource.SCHEMA)) == (
        7,
    )
    assert found(told(1, 7), told(7, 8, kind=RelationKind.PROVIDES)) == (7, 8)


def test_only_a_few_callable_tools_are_considered():
    many = [told(1, pk, 0.6 + pk / 100) for pk in range(10, 30)]
    assert found(*many, usable=lambda pk: pk != 29) == tuple(range(28, 28 - MAX_CONSIDERED, -1))


def test_without_a_ranked_set_there_is_nothing():
    assert find_considered(ranking(None), Topology([told(1, 2)])) == ()
