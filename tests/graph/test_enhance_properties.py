"""Whatever relations exist, an answer can run, lists no tool twice, and lacks nothing unsaid."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evaluation.closure import collect_closure
from graph.enhance.answer import RemarkKind, SearchMatch
from graph.enhance.enhance import enhance_matches
from graph.enhance.order import order_for_running
from graph.enhance.related import MAX_RELATED
from graph.enhance.rules import EnhancementRules
from graph.relations import EvidenceSource, Relation, RelationKind
from graph.topology import Topology

TOOLS = st.integers(1, 12)
SURE = st.sampled_from([0.0, 0.3, 0.5, 0.75, 0.9, 1.0])


@st.composite
def relations(draw):
    kinds = st.sampled_from(
        [*RelationKind, RelationKind.DEPENDS_ON, RelationKind.DEPENDS_ON, RelationKind.DEPENDS_ON]
    )
    sources = st.sampled_from([(source,) for source in EvidenceSource])
    rows = draw(st.lists(st.tuples(TOOLS, TOOLS, kinds, SURE, st.booleans(), sources)))
    return [Relation(*row) for row in rows if row[0] != row[1]]


matches = st.lists(TOOLS, unique=True, max_size=6)
some = st.frozensets(TOOLS, max_size=4)


@given(relations(), matches, some, some)
def test_no_tool_is_listed_twice_or_without_permission(every, tools, barred, in_use):
    enhanced = answer(every, tools, barred, in_use)
    listed = [entry.tool for entry in enhanced.entries]
    usable = [tool for tool in tools if tool not in barred | in_use]
    assert len(set(listed)) == len(listed)
    assert set(usable) <= set(listed)
    assert not set(listed) & (barred | in_use)
    assert len(enhanced.related) <= MAX_RELATED
    roles = [entry.role for entry in enhanced.entries]
    assert roles.count("match") == len(enhanced.groups) <= len(usable)
    assert all(0 <= entry.score <= 1 and 0 <= entry.confidence <= 1 for entry in enhanced.entries)


@given(relations(), matches, some, some)
def test_every_requirement_is_listed_in_use_or_reported_missing(every, tools, barred, in_use):
    enhanced = answer(every, tools, barred, in_use)
    topology = Topology(every)
    listed = {entry.tool for entry in enhanced.entries}
    said = {(r.tool, r.other_tool) for r in enhanced.remarks if r.kind is RemarkKind.LACKS}
    for group in enhanced.groups:
        tool = group.match.tool
        needed = collect_closure(topology, tool, usable=lambda t: t not in barred | in_use)
        assert set(needed.ordered_tools) <= listed
        assert {(tool, other) for other in set(needed.missing) - in_use} <= said


@given(relations(), matches)
def test_the_order_of_an_answer_can_run(every, tools):
    topology = Topology(every)
    listed = [entry.tool for entry in answer(every, tools, frozenset(), frozenset()).entries]
    order = order_for_running(topology, listed)
    place = {tool: number for number, tool in enumerate(order.tools)}
    assert sorted(order.tools) == sorted(listed)
    cut = {relation.key for relation in order.dropped_relations}
    for relation in topology.relations_among(listed):
        if relation.kind is RelationKind.DEPENDS_ON and relation.key not in cut:
            assert place[relation.target] < place[relation.source]


@given(relations(), matches, st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_relations_were_loaded_in(every, tools, random):
    unique = list({relation.key: relation for relation in every}.values())
    shuffled = random.sample(unique, len(unique))
    assert (
        answer(unique, tools, frozenset(), frozenset()).entries
        == answer(shuffled, tools, frozenset(), frozenset()).entries
    )


def answer(every, tools, barred, in_use):
    usable = [tool for tool in tools if tool not in barred | in_use]
    rules = EnhancementRules(is_usable=lambda tool: tool not in barred, tools_in_use=in_use)
    ranked = [SearchMatch(tool, 0.9 - 0.1 * place) for place, tool in enumerate(usable)]
    return enhance_matches(Topology(every), ranked, rules=rules)
