"""The explorer of the tool graph: filters, paths, curation, and what is drawn."""

from itertools import pairwise

import pytest

from gateway_project.console.rooms.graph_layout import LayoutCache
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
    drawn = {(data["nodes"][s][0], data["nodes"][t][0], data["kinds"][k])
             for s, t, k, _ in data["edges"]}  # fmt: skip
    assert ("git:status", "git:add", "precedes") in drawn
    assert data["total"] == 3


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 3), ("?server=git", 2), ("?kind=provides", 0), ("?kind=nonsense", 3),
        ("?least=95", 0), ("?least=50", 3), ("?least=x", 3), ("?community=none", 0),
        ("?community=fs", 2),
    ],
)  # fmt: skip
def test_filters_admit_relations_in_picture_and_list(root, chain, query, count):
    assert root.get(f"/graph/data/{query}").json()["total"] == count
    page = root.get(f"/graph/{query}")
    assert f"{count} relation" in text_of(page)
    if not count:
        assert "No relation is like that" in text_of(page)


def test_the_path_between_two_tools_is_shown_with_why(root, chain):
    text = text_of(root.get("/graph/?source=git:status&target=fs:read"))
    assert "3 tools, 81 % sure as a whole." in text
    assert "comes before git:add 90 %" in text
    assert "curated" in text
    shortest = text_of(root.get("/graph/?source=git:status&target=fs:read&by=shortest"))
    assert "3 tools" in shortest


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


def related(*pairs):
    return Topology(
        Relation(source, target, RelationKind.PROVIDES, 0.9, False) for source, target in pairs
    )


def test_positions_stay_while_only_relations_change():
    view = Visibility(
        catalogue=catalogue(*(tool(f"s:t{n}", pk=n) for n in (1, 2, 3))),
        caller=Caller(user="a", team=None, scopes=frozenset(), kind="console"),
    )
    cache, metrics = LayoutCache(), {1: GraphMetric(0.5, 0, 0.0, 0.0)}
    first = cache.find(related((1, 2)), metrics, view)
    assert cache.find(related((1, 2), (2, 1)), metrics, view) is first
    with_third = cache.find(related((1, 2), (2, 3)), metrics, view)
    assert with_third is not first
    assert with_third.groups == {1: 0, 2: "s", 3: "s"}
    assert cache.find(related((1, 2)), dict(metrics), view) is not with_third
