import pytest

from graph.relations import Kind, Relation, Source
from graph.suggest.considered import MAX_CONSIDERED, considered
from graph.topology import Topology
from tests.graph.suggest.builders import ranked, ranking


def told(
    source: int,
    target: int,
    confidence: float = 0.9,
    *,
    kind: Kind = Kind.DEPENDS_ON,
    by: Source = Source.CURATED,
) -> Relation:
    return Relation(source, target, kind, confidence, sources=(by,))


def found(*relations: Relation, known: tuple[int, ...] = (1,), usable=lambda _pk: True):
    likely = ranking(ranked(1), probabilities=dict.fromkeys(known, 0.5))
    return considered(likely, Topology(relations), usable=usable)


@pytest.mark.parametrize("by", [Source.CURATED, Source.IMPORTED, Source.OBSERVED])
def test_what_the_best_tools_require_or_are_related_to_is_considered(by):
    assert found(told(1, 7, by=by), told(8, 1, 0.6, kind=Kind.PRECEDES, by=by)) == (7, 8)


def test_what_depends_on_them_is_doubtful_or_ranked_already_is_not():
    assert found(told(7, 1), told(1, 8, 0.4), told(1, 9), known=(1, 9)) == ()


def test_what_servers_alone_say_brings_nothing_in():
    hostile = told(1, 7, 1.0, kind=Kind.PROVIDES, by=Source.SCHEMA)
    assert found(hostile) == ()
    assert found(hostile, told(1, 7, 0.1, kind=Kind.PRECEDES)) == ()
    uncounted = Relation(
        1,
        8,
        Kind.OFTEN_USED_WITH,
        0.9,
        sources=(Source.OBSERVED,),
        detail={"successes": 0.0, "failures": 0.0},
    )
    assert found(uncounted) == ()


def test_no_way_leads_over_what_servers_alone_say():
    assert found(told(1, 7), told(7, 8, kind=Kind.PROVIDES, by=Source.SCHEMA)) == (7,)
    assert found(told(1, 7), told(7, 8, kind=Kind.PROVIDES)) == (7, 8)


def test_only_a_few_that_may_be_called_are():
    many = [told(1, pk, 0.6 + pk / 100) for pk in range(10, 30)]
    assert found(*many, usable=lambda pk: pk != 29) == tuple(range(28, 28 - MAX_CONSIDERED, -1))


def test_without_a_ranked_set_there_is_nothing():
    assert considered(ranking(None), Topology([told(1, 2)])) == ()
