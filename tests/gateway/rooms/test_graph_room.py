"""The explorer of the tool graph: filters, paths, curation, and what is drawn."""

from concurrent.futures import Executor, Future
from itertools import pairwise

import pytest

from gateway_project.console.rooms import graph
from gateway_project.console.rooms.graph_layout import LayoutCache, group_tools
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry
from graph.models import ToolDependency
from graph.record import GraphMetric
from graph.relations import Relation, RelationKind
from graph.topology import Topology
from tests.factories import (
    EvidenceFactory,
    RelationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
)
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.rooms.test_servers_room import text_of
from tools.visibility import Visibility

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]


def relate(source, target, kind="precedes", confidence=0.9):
    relation = RelationFactory(source=source, target=target, kind=kind)
    EvidenceFactory(relation=relation, confidence=confidence)
    return relation


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, work, /, *given, **named):
        future = Future()
        future.set_result(work(*given, **named))
        return future


@pytest.fixture(autouse=True)
def layouts(monkeypatch):
    """Have layouts computed at once."""
    monkeypatch.setattr(graph, "_LAYOUTS", LayoutCache(AtOnce()))


@pytest.fixture
def chain(db):
    """Four tools of two servers, each before the next, and one that stands alone."""
    git, fs = ServerFactory(name="git"), ServerFactory(name="fs")
    tools = [ToolFactory(server=server, name=name) for server, name in
             ((git, "status"), (git, "add"), (fs, "read"), (fs, "write"))]  # fmt: skip
    for one, other in pairwise(tools):
        relate(one, other)
    ToolFactory(server=fs, name="alone")
    return tools


def test_an_empty_graph_says_where_relations_come_from(root):
    assert "No relations yet" in text_of(root.get("/graph/"))


def test_what_is_drawn_are_related_tools_with_positions(root, chain):
    data = root.get("/graph/data/").json()
    assert {node[0] for node in data["nodes"]} == {"git:status", "git:add", "fs:read", "fs:write"}
    assert len({tuple(node[1:3]) for node in data["nodes"]}) == 4
    drawn = {(data["nodes"][s][0], data["nodes"][t][0], data["kinds"][k][0])
             for s, t, k, _ in data["edges"]}  # fmt: skip
    assert ("git:status", "git:add", "precedes") in drawn
    assert data["total"] == 3


def test_the_legend_names_each_kind_drawn_and_whether_it_has_a_direction(root, chain):
    relate(chain[0], chain[2], kind="often_used_with")
    before = ["precedes", True, 3, "--chart-1", []]
    together = ["often used with", False, 1, "--chart-8", [2, 4]]
    every = root.get("/graph/data/").json()["kinds"]
    assert [kind for kind in every if kind[2]] == [before, together]
    filtered = root.get("/graph/data/?kind=often_used_with").json()["kinds"]
    assert [kind for kind in filtered if kind[2]] == [together]


COUNTS_OF_FILTERS = {
    "": 3, "?server=git": 2, "?kind=provides": 0, "?kind=nonsense": 3, "?least=95": 0,
    "?least=50": 3, "?least=x": 3, "?community=none": 0, "?community=fs": 2,
}  # fmt: skip


def test_filters_admit_relations_in_picture_and_list(root, chain):
    for query, count in COUNTS_OF_FILTERS.items():
        assert root.get(f"/graph/data/{query}").json()["total"] == count, query
        shown = text_of(root.get(f"/graph/{query}"))
        assert f"{count} relation" in shown, query
        assert ("No relation is like that" in shown) is (not count), query


def test_the_path_between_two_tools_is_shown_with_why(root, chain):
    text = text_of(root.get("/graph/?source=git:status&target=fs:read"))
    assert "3 tools, 81 % sure as a whole." in text
    assert "comes before git:add 90 %" in text
    assert "curated" in text
    shortest = text_of(root.get("/graph/?source=git:status&target=fs:read&by=shortest"))
    assert "3 tools" in shortest


def test_fields_for_a_tool_propose_those_that_the_caller_may_know_of(root, chain, monkeypatch):
    chosen = ToolFactory(server=ServerFactory(name="alone"), name="unrelated")
    ToolFactory(server=ServerFactory(name="theirs", team=TeamFactory()), name="hidden")
    page = root.get("/graph/").content.decode()
    assert f'<option value="{chosen.server.name}:unrelated">' in page
    assert "theirs:hidden" not in page
    monkeypatch.setattr(graph, "MAX_NAMED", 1)
    assert "alone:unrelated" not in root.get("/graph/").content.decode()


def test_no_path_and_unknown_tools_are_said_in_words(root, chain):
    assert "No relations lead" in text_of(root.get("/graph/?source=fs:read&target=git:status"))
    assert "No tool 'fs:none'" in text_of(root.get("/graph/?source=fs:read&target=fs:none"))


def test_a_relation_is_added_rejected_and_restored(root, chain):
    given = {"source": "fs:alone", "target": "git:add", "kind": "depends_on", "reason": "so it is"}
    added = root.post("/graph/curate/", given | {"action": "add"}, follow=True)
    assert "Added: fs:alone depends on git:add" in text_of(added)
    rejected = root.post(
        "/graph/curate/", given | {"action": "reject", "back": "server=git"}, follow=True
    )
    assert rejected.redirect_chain[0][0].endswith("?server=git")
    assert "Rejected" in text_of(rejected)
    assert "Let it count again" in text_of(rejected)
    assert ToolDependency.objects.filter(rejected=True).count() == 1
    root.post("/graph/curate/", given | {"action": "restore"})
    assert not ToolDependency.objects.filter(rejected=True).exists()
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["relation.registered", "relation.rejected", "relation.restored"]


@pytest.mark.parametrize(
    "given",
    [
        {"source": "git:add", "target": "git:add", "kind": "precedes", "action": "add"},
        {"source": "git:add", "target": "no:such", "kind": "precedes", "action": "add"},
        {"source": "git:add", "target": "fs:read", "kind": "loves", "action": "add"},
        {"source": "git:add", "target": "fs:alone", "kind": "provides", "action": "reject"},
    ],
)
def test_what_cannot_be_curated_changes_nothing(root, chain, given):
    answer = root.post("/graph/curate/", given, follow=True)
    assert "Nothing was changed" in text_of(answer)
    assert not AuditEntry.objects.exists()


def test_only_curators_curate(sign_in, chain):
    viewer = sign_in("operator")
    assert "Say how two tools belong together" not in text_of(viewer.get("/graph/"))
    given = {"source": "git:add", "target": "fs:read", "kind": "precedes", "action": "reject"}
    assert viewer.post("/graph/curate/", given).status_code == 403
    assert sign_in("curator", "cora").post("/graph/curate/", given).status_code == 302


def test_tools_of_other_teams_are_neither_drawn_nor_listed(root, chain):
    hidden = ToolFactory(server=ServerFactory(name="theirs", team=TeamFactory()), name="secret")
    relate(hidden, chain[0])
    relate(chain[1], hidden)
    ToolDependency.objects.filter(target=hidden).update(rejected=True)
    for path in ("/graph/", "/graph/data/"):
        assert "secret" not in root.get(path).content.decode()
    asked = text_of(root.get("/graph/?source=theirs:secret&target=git:add"))
    assert "No tool 'theirs:secret'" in asked


def test_without_a_gateway_the_graph_is_read_from_the_database_and_curated(
    root, chain, no_gateway
):
    assert "3 relations among 4 tools" in text_of(root.get("/graph/"))
    assert root.get("/graph/data/").json()["total"] == 3
    given = {"source": "git:add", "target": "git:status", "kind": "precedes", "action": "add"}
    assert "Added: git:add precedes git:status" in text_of(
        root.post("/graph/curate/", given, follow=True)
    )
    assert root.get("/graph/data/").json()["total"] == 4


def related(*pairs):
    return Topology(
        Relation(source, target, RelationKind.PROVIDES, 0.9, False) for source, target in pairs
    )


class Postponed(Executor):
    """Does what it is given when it is told to."""

    def __init__(self):
        self.waiting = []

    def submit(self, work, /, *given, **named):
        future = Future()
        self.waiting.append(lambda: future.set_result(work(*given, **named)))
        return future

    def work(self):
        while self.waiting:
            self.waiting.pop()()


def view_of(*pks):
    return Visibility(
        catalogue=catalogue(*(tool(f"s:t{n}", pk=n) for n in pks)),
        caller=Caller(user="a", team=None, person=None, scopes=frozenset(), kind="console"),
    )


def test_positions_stay_while_only_relations_change():
    executor, metrics = Postponed(), {1: GraphMetric(0.5, 0, 0.0, 0.0)}
    cache = LayoutCache(executor)

    def find(one, metrics):
        groups = group_tools(one, metrics, view_of(1, 2, 3))
        cache.find(one, metrics, groups, team=None)
        executor.work()
        return cache.find(one, metrics, groups, team=None)

    first = find(related((1, 2)), metrics)
    assert find(related((1, 2), (2, 1)), metrics) is first
    with_third = find(related((1, 2), (2, 3)), metrics)
    assert with_third.keys() == {1, 2, 3}
    assert find(related((1, 2)), {1: GraphMetric(0.5, 7, 0.0, 0.0)}) is not with_third


def test_the_list_is_shown_while_the_layout_is_computed(root, chain, monkeypatch):
    executor = Postponed()
    monkeypatch.setattr(graph, "_LAYOUTS", LayoutCache(executor))
    assert "git:status" in text_of(root.get("/graph/"))
    assert root.get("/graph/data/").status_code == 202
    executor.work()
    assert root.get("/graph/data/").json()["total"] == 3
