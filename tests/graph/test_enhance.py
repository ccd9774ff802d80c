import pytest

from graph.enhance.answer import RemarkKind, SearchMatch
from graph.enhance.enhance import enhance_matches
from graph.enhance.rules import EnhancementRules
from graph.relations import EvidenceSource, Relation, RelationKind
from graph.topology import Topology

CURATED = (EvidenceSource.CURATED,)
SCHEMA = (EvidenceSource.SCHEMA,)
OBSERVED = (EvidenceSource.OBSERVED,)


def relation(source, kind, target, confidence=1.0, *, required=True, sources=CURATED):
    return Relation(source, target, kind, confidence, required, sources)


def needs(source, target, **values):
    return relation(source, RelationKind.DEPENDS_ON, target, **values)


def found(*tools):
    return [SearchMatch(tool, 0.9 - 0.01 * place) for place, tool in enumerate(tools)]


def shown(relations, *tools, **rules):
    enhanced = enhance_matches(Topology(relations), found(*tools), rules=EnhancementRules(**rules))
    return [(entry.tool, entry.role) for entry in enhanced.entries]


def remarks(relations, *tools, **rules):
    enhanced = enhance_matches(Topology(relations), found(*tools), rules=EnhancementRules(**rules))
    return [(remark.kind, remark.tool, remark.other_tool) for remark in enhanced.remarks]


def test_required_tools_are_listed_below_their_match_nearest_first():
    chain = [needs(1, 4), needs(4, 5), needs(1, 3)]
    assert shown(chain, 1, 2) == [
        (1, "match"),
        (3, "required"),
        (4, "required"),
        (5, "required"),
        (2, "match"),
    ]


def test_an_optional_dependency_is_related_not_required():
    assert shown([needs(1, 2, required=False)], 1) == [(1, "match"), (2, "related")]


def test_providers_of_a_parameter_precede_mere_predecessors():
    both = [needs(1, 2), needs(1, 3)]
    assert [tool for tool, _ in shown(both, 1)] == [1, 2, 3]
    assert [tool for tool, _ in shown([*both, relation(3, RelationKind.PROVIDES, 1)], 1)] == [
        1,
        3,
        2,
    ]
    guessed = relation(3, RelationKind.PROVIDES, 1, sources=SCHEMA)
    assert [tool for tool, _ in shown([*both, guessed], 1)] == [1, 2, 3]


def test_a_match_required_by_a_better_one_is_listed_below_it_with_its_score():
    enhanced = enhance_matches(Topology([needs(1, 3)]), found(1, 2, 3))
    assert [(entry.tool, entry.role) for entry in enhanced.entries] == [
        (1, "match"),
        (3, "required"),
        (2, "match"),
    ]
    assert enhanced.entries[1].score == pytest.approx(0.88)


def test_an_unusable_required_tool_is_omitted_with_a_note_on_the_match():
    chain = [needs(1, 2), needs(2, 3), needs(3, 4)]
    rules = {"is_usable": lambda tool: tool != 3}
    assert shown(chain, 1, **rules) == [(1, "match"), (2, "required")]
    assert remarks(chain, 1, **rules) == [(RemarkKind.LACKS, 1, 3)]


def test_tools_in_use_and_their_requirements_are_not_listed():
    chain = [needs(1, 2), needs(2, 3), relation(1, RelationKind.PRECEDES, 4)]
    assert shown(chain, 1, tools_in_use=frozenset({2, 4})) == [(1, "match")]
    assert remarks(chain, 1, tools_in_use=frozenset({2}), is_usable=lambda tool: tool != 2) == []


def test_related_tools_rank_by_confidence_halved_over_two_relations():
    relations = [
        relation(1, RelationKind.OFTEN_USED_WITH, 2, 0.92),
        relation(2, RelationKind.OFTEN_USED_WITH, 3, 0.72),
        relation(3, RelationKind.OFTEN_USED_WITH, 4, 0.99),
        relation(1, RelationKind.PRECEDES, 5, 0.5),
        relation(1, RelationKind.PRECEDES, 6, 0.49),
    ]
    enhanced = enhance_matches(Topology(relations), [SearchMatch(1, 1.0)])
    assert [(entry.tool, round(entry.score, 3)) for entry in enhanced.related] == [
        (2, 0.92),
        (5, 0.5),
        (3, 0.331),
    ]


@pytest.mark.parametrize(
    ("sources", "is_shown"),
    [(OBSERVED, False), (CURATED, True), ((*CURATED, *OBSERVED), True)],
)
@pytest.mark.parametrize("between", [False, True])
def test_what_only_runs_relate_to_a_match_is_not_shown_if_it_may_destroy(
    sources, is_shown, between
):
    last = relation(2, RelationKind.OFTEN_USED_WITH, 3, sources=sources)
    path = (
        [relation(1, RelationKind.OFTEN_USED_WITH, 2), last]
        if between
        else [last._replace(source=1)]
    )
    for may_destroy in (True, False):
        listed = shown(path, 1, may_destroy=lambda tool, it=may_destroy: it and tool == 3)
        assert ((3, "related") in listed) is (is_shown or not may_destroy)


def test_at_most_three_related_tools_are_added_ties_by_usage_rank_and_key():
    relations = [relation(1, RelationKind.OFTEN_USED_WITH, tool, 0.9) for tool in (2, 3, 4, 5)]
    assert shown(relations, 1, usage_counts={5: 7})[1:] == [
        (5, "related"),
        (2, "related"),
        (3, "related"),
    ]
    ranks = {2: 0.1, 3: 0.1 + 1e-9, 4: 0.2, 5: 0.1}
    ranked = shown(relations, 1, usage_counts={5: 7}, pagerank_of=ranks.__getitem__)
    assert [tool for tool, _ in ranked] == [1, 5, 4, 2]


@pytest.mark.parametrize(("score", "expected"), [(0.05, ()), (0.2, (3,))])
def test_an_unlikely_match_adds_no_related_tool(score, expected):
    topology = Topology([relation(2, RelationKind.OFTEN_USED_WITH, 3, 0.9)])
    enhanced = enhance_matches(topology, [SearchMatch(2, score)])
    assert tuple(entry.tool for entry in enhanced.related) == expected


def test_schema_evidence_alone_adds_only_certain_tools_after_all_matches():
    unsure = [relation(1, RelationKind.PROVIDES, 3, 0.79, sources=SCHEMA)]
    sure = [relation(1, RelationKind.PROVIDES, 4, 0.8, sources=SCHEMA)]
    assert shown([*unsure, *sure], 1, 2) == [(1, "match"), (2, "match"), (4, "related")]


def test_no_path_leads_through_an_unusable_tool():
    relations = [
        relation(1, RelationKind.PRECEDES, 3, 1.0),
        relation(3, RelationKind.PRECEDES, 4, 1.0),
    ]
    assert shown(relations, 1, is_usable=lambda tool: tool != 3) == [(1, "match")]


def test_a_replaced_tool_is_reported_and_not_offered_as_related():
    relations = [
        relation(2, RelationKind.REPLACES, 1),
        relation(1, RelationKind.OFTEN_USED_WITH, 4, 0.9),
        relation(3, RelationKind.REPLACES, 4),
    ]
    assert remarks(relations, 1) == [(RemarkKind.REPLACED, 1, 2)]
    assert shown(relations, 1) == [(1, "match")]
    assert shown(relations, 1, is_usable=lambda tool: tool != 3) == [(1, "match"), (4, "related")]


def test_a_related_tool_that_excludes_a_listed_one_is_not_offered():
    relations = [
        relation(1, RelationKind.OFTEN_USED_WITH, 2, 0.9),
        relation(1, RelationKind.OFTEN_USED_WITH, 3, 0.9),
        relation(2, RelationKind.MUTUALLY_EXCLUSIVE, 1),
        relation(9, RelationKind.MUTUALLY_EXCLUSIVE, 3),
    ]
    assert shown(relations, 1, tools_in_use=frozenset({9})) == [(1, "match")]


def test_mutually_exclusive_matches_warn_at_the_later_one():
    relations = [needs(1, 2), relation(2, RelationKind.MUTUALLY_EXCLUSIVE, 3)]
    assert remarks(relations, 3, 1) == [(RemarkKind.EXCLUDES, 2, 3)]
    assert remarks(relations, 1, 3) == [(RemarkKind.EXCLUDES, 3, 2)]
    assert remarks(relations, 3, tools_in_use=frozenset({2})) == [(RemarkKind.EXCLUDES, 3, 2)]
    assert remarks(relations, 4, tools_in_use=frozenset({2, 3})) == []


def test_untrusted_cross_server_relations_add_no_tools():
    observed = Relation(
        1,
        2,
        RelationKind.PROVIDES,
        0.9,
        True,
        (EvidenceSource.OBSERVED,),
        {"successes": 0.0, "failures": 0.0},
    )
    for flow in (relation(1, RelationKind.PROVIDES, 2, 0.9, sources=SCHEMA), observed):
        assert shown([flow], 1) == [(1, "match"), (2, "related")]
        assert shown([flow], 1, is_trusted_pair=lambda _one, _other: False) == [(1, "match")]
    told = relation(1, RelationKind.PROVIDES, 2, 0.9)
    assert shown([told], 1, is_trusted_pair=lambda _one, _other: False)[1:] == [(2, "related")]


def test_observed_relations_are_guesses_until_runs_are_counted():
    def seen(successes):
        detail = {"successes": successes, "failures": 0.0}
        return Relation(1, 2, RelationKind.PROVIDES, 0.6, True, (EvidenceSource.OBSERVED,), detail)

    assert shown([seen(0.0)], 1) == [(1, "match")]
    assert shown([seen(1.0)], 1) == [(1, "match"), (2, "related")]


def test_a_replacement_is_listed_right_before_the_replaced_match():
    replaces = [relation(4, RelationKind.REPLACES, 2), relation(2, RelationKind.REPLACES, 1)]
    assert [tool for tool, _ in shown(replaces, 1, 3, 2, 5, 4)] == [4, 2, 1, 3, 5]
    assert [tool for tool, _ in shown(replaces, 4, 3, 2)] == [4, 3, 2]
    circle = [relation(1, RelationKind.REPLACES, 2), relation(2, RelationKind.REPLACES, 1)]
    assert [tool for tool, _ in shown(circle, 1, 2)] == [2, 1]
    doubted = [relation(2, RelationKind.REPLACES, 1, 0.3)]
    assert [tool for tool, _ in shown(doubted, 1, 2)] == [1, 2]
