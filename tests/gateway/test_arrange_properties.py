"""Whatever relations exist and whatever fits, an answer can run and names no foreign tool."""

import json

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.find import arrange, relation_rows
from gateway_project.find.arrange import AnswerContext
from gateway_project.find.relation_rows import MAX_WARNINGS, list_alternatives
from gateway_project.foundation.caller import Caller
from graph.enhance.order import RIVAL_KINDS
from graph.relations import RelationKind, is_binding_dependency
from graph.topology import Topology
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import hit
from tests.graph.drawn import relations
from tools.visibility import Visibility

TOOLS = 9
FOREIGN = {3, 6}
A_CARD = 20
CALLER = Caller(user="ann", team=1, person=None, scopes=frozenset({"*"}), kind="command")
KNOWN = catalogue(
    *(
        tool(f"red:secret{pk}", pk=pk, team=2)
        if pk in FOREIGN
        else tool(f"s{pk % 2}:t{pk}", pk=pk)
        for pk in range(1, TOOLS + 1)
    )
)
PK = {one.tool: one.pk for one in KNOWN.tools.values()}
OWN = sorted(name for name, pk in PK.items() if pk not in FOREIGN)
drawn_relations = relations(
    [*RelationKind, RelationKind.DEPENDS_ON, RelationKind.PROVIDES, RelationKind.PRECEDES],
    tools=TOOLS,
    most=40,
)
found = st.lists(st.sampled_from(OWN), unique=True, max_size=5)


def arranged(drawn, matches, *, cards):
    terms = AnswerContext(
        visibility=Visibility(catalogue=KNOWN, caller=CALLER), topology=Topology(drawn)
    )
    hits = [hit(name, 0.9 - 0.05 * place) for place, name in enumerate(matches)]
    return arrange.arrange_answer(
        hits,
        terms,
        count=lambda some, _order, _warnings: A_CARD * len(some),
        budget_tokens=A_CARD * cards,
    )


@given(drawn_relations, found, st.integers(0, 10))
def test_the_order_names_what_is_listed_and_puts_dependencies_first(drawn, matches, cards):
    answer = arranged(drawn, matches, cards=cards)
    listed = [card.tool for card in answer.cards]
    assert answer.tokens == A_CARD * len(listed) <= A_CARD * max(cards, 1)
    assert len(answer.run_order) != 1
    assert set(answer.run_order) <= set(listed)
    place = {PK[name]: number for number, name in enumerate(answer.run_order)}
    needs = [
        (one.source, one.target)
        for one in drawn
        if one.kind is RelationKind.DEPENDS_ON and {one.source, one.target} <= place.keys()
    ]
    against = [one for one in needs if place[one[1]] > place[one[0]]]
    assert len(against) == len(answer.warnings) or len(answer.warnings) > MAX_WARNINGS
    if nx.is_directed_acyclic_graph(nx.DiGraph(needs)):
        assert not against


@given(drawn_relations, found)
def test_dependents_of_a_listed_tool_run_after_it_or_not_at_all(drawn, matches):
    answer = arranged(drawn, matches, cards=TOOLS)
    shown = {PK[card.tool] for card in answer.cards}
    ordered = {PK[name] for name in answer.run_order}
    for one in drawn:
        if is_binding_dependency(one) and one.target in shown:
            assert one.source not in ordered or one.target in ordered
    if not any(one.kind in RIVAL_KINDS for one in drawn):
        hard = [one for one in drawn if one.kind is RelationKind.DEPENDS_ON]
        ends = [{one.source, one.target} for one in hard]
        assert all(both <= ordered for both in ends if both <= shown)


@given(drawn_relations, found, st.integers(1, 400))
def test_an_answer_costs_its_budget_or_what_the_best_match_costs(drawn, matches, budget):
    terms = AnswerContext(
        visibility=Visibility(catalogue=KNOWN, caller=CALLER), topology=Topology(drawn)
    )
    hits = [hit(name, 0.9 - 0.05 * place) for place, name in enumerate(matches)]
    count = arrange.make_token_counter(len)
    answer = arrange.arrange_answer(hits, terms, count=count, budget_tokens=budget)
    sent = {
        "tools": [card.as_json() for card in answer.cards],
        "run_order": answer.run_order,
        "warnings": answer.warnings,
    }
    if answer.cards:
        assert answer.tokens == len(json.dumps(sent, separators=(",", ":")))
    assert answer.tokens <= budget or len(answer.cards) <= 1


@given(drawn_relations, found, st.sampled_from(OWN))
def test_no_tool_of_another_team_is_named_anywhere(drawn, matches, asked):
    answer = arranged(drawn, matches, cards=10)
    sight, topology = Visibility(catalogue=KNOWN, caller=CALLER), Topology(drawn)
    described = relation_rows.relation_rows(KNOWN.tools[asked], topology, sight)
    others = list_alternatives(KNOWN.tools[asked], topology, sight, describe_trouble=lambda _: "")
    told = [[card.as_json() for card in answer.cards], answer.run_order, answer.warnings]
    assert "secret" not in json.dumps([told, described, others])
