"""The list of relations in the console: who sees which, filters, queries; evidence; tools."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import gateway_project.urls  # noqa: F401 - finds the pages
from graph.models import RelationEvidence, ToolDependency
from tests.factories import (
    EvidenceFactory,
    MembershipFactory,
    RelationFactory,
    TeamFactory,
    ToolFactory,
)
from tests.gateway.admin_pages import ADD, LIST, act, page, relation
from tools.models import Tool

pytestmark = pytest.mark.django_db


def seen(client, url):
    """Return a page as people read it: a place where a line may be broken is no mark."""
    return client.get(url).content.decode().replace("<wbr>", "")


def test_staff_see_no_evidence_of_teams_they_are_not_in(client, staff, tools):
    own = MembershipFactory(user=staff, team__name="blue").team
    other = TeamFactory(name="crimson")
    both = relation(tools[0], tools[1], source="schema")
    for team in (own, other):
        EvidenceFactory(relation=both, source="observed", team=team, confidence=None, successes=3)
        EvidenceFactory(relation=both, source="schema", team=team, confidence=0.7)
    hidden = relation(tools[0], tools[2], source="observed", team=other, confidence=None)
    shown = seen(client, LIST)
    assert "observed by blue, derived from results that blue saw, schema" in shown
    assert "by crimson" not in shown
    assert "that crimson" not in shown
    assert "s1:status" not in shown
    assert client.get(page(ToolDependency, "change", hidden.pk)).status_code == 404
    page_of_both = client.get(page(ToolDependency, "change", both.pk)).content.decode()
    assert "blue" in page_of_both
    assert "crimson" not in page_of_both
    act(client, ToolDependency, "reject", hidden)
    assert not ToolDependency.objects.get(pk=hidden.pk).rejected


def test_superusers_see_the_evidence_of_every_team(client, root, tools):
    relation(tools[0], tools[1], source="observed", team=TeamFactory(name="crimson"), successes=3)
    assert "observed by crimson" in seen(client, LIST)
    assert "s0:add" in seen(client, LIST)


FILTERED = {
    "kind__exact=precedes": {"precedes"},
    "evidence=curated": {"depends_on"},
    "evidence=shipped": {"replaces"},
    "evidence=schema": {"provides"},
    "evidence=observed": {"precedes"},
    "evidence=imported": {"validates"},
    "evidence=other": {"depends_on", "replaces", "provides", "precedes", "validates", "optimizes"},
    "rejected__exact=1": {"optimizes"},
    "q=git:commit": {"depends_on", "replaces", "provides", "precedes", "validates"},
    "q=s1": {"optimizes"},
}


@pytest.mark.parametrize(("query", "kinds"), FILTERED.items(), ids=FILTERED.keys())
def test_the_list_is_filtered_and_searched(client, root, tools, query, kinds):
    commit, stage, status = tools
    relation(commit, stage, "depends_on", source="curated", origin="ann")
    relation(commit, stage, "replaces", source="imported", origin="foregate")
    relation(commit, stage, "provides", source="schema")
    relation(commit, stage, "precedes", source="observed", successes=2)
    relation(commit, stage, "validates", source="imported", origin="a.json")
    RelationFactory(source=stage, target=status, kind="optimizes", rejected=True)
    rows = client.get(f"{LIST}?{query}").context["cl"].result_list
    assert {row.kind for row in rows} == kinds


def test_the_list_is_filtered_by_server_and_by_tool(client, root, tools):
    commit, stage, status = tools
    rows = [relation(commit, stage), relation(stage, status)]

    def found(query):
        return list(client.get(f"{LIST}?{query}").context["cl"].result_list)

    assert found(f"server={commit.server_id}") == rows[:1]
    assert found(f"tool={status.pk}") == rows[1:]
    assert found(f"tool={stage.pk}") == rows[::-1]
    for odd in ("tool=x", "server=x"):
        assert len(found(odd)) == 2
    assert found(f"server={10**30}") == []
    assert len(found(f"tool={10**30}")) == 2


def test_the_queries_of_the_list_do_not_grow_with_its_rows(client, root, tools):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            client.get(LIST)
        return len(captured)

    relation(tools[0], tools[1], source="schema")
    before = queries()
    for _ in range(5):
        row = relation(ToolFactory(), ToolFactory(), source="schema")
        EvidenceFactory(relation=row, source="observed", team=TeamFactory(), successes=1)
    assert queries() <= before
    assert before <= 12


def test_tools_to_choose_from_are_found_by_their_id_in_few_queries(client, root):
    for place in range(5):
        ToolFactory(server__name=f"git{place}", name="commit")
    address = reverse("admin:autocomplete")
    asked = {"app_label": "graph", "model_name": "tooldependency", "field_name": "source"}
    with CaptureQueriesContext(connection) as captured:
        found = client.get(address, asked | {"term": "git3:commit"}).json()["results"]
        every = client.get(address, asked | {"term": "commit"}).json()["results"]
    assert [one["text"] for one in found] == ["git3:commit"]
    assert len(every) == 5
    assert len(captured) <= 10


def test_a_tools_page_names_what_replaces_it_and_leads_to_its_relations(client, root, tools):
    new, old, _ = tools
    row = relation(new, old, "replaces", source="curated")
    row.version = "2.0"
    row.save()
    shown = client.get(page(Tool, "change", old.pk)).content.decode()
    assert "replaced by" in shown
    assert "git:commit</a> since 2.0" in shown
    assert f"{LIST}?tool={old.pk}" in shown
    assert "replaced by" not in client.get(page(Tool, "change", new.pk)).content.decode()


def test_names_of_tools_are_escaped(client, root, tools):
    odd = ToolFactory(name="<script>alert(1)</script>", server__name="x")
    relation(odd, tools[0], "replaces", source="curated", origin="<b>ann")
    for url in (LIST, page(Tool, "change", tools[0].pk)):
        shown = seen(client, url)
        assert "&lt;script&gt;alert" in shown
        assert "<script>alert" not in shown
        assert "<b>ann" not in shown
    values = {"source": odd.pk, "kind": "replaces", "target": tools[0].pk, "confidence": 1}
    refused = client.post(ADD, values).content.decode()
    assert "is already stored" in refused
    assert "<script>alert" not in refused


def test_the_evidence_of_a_relation_is_shown_and_never_written(client, root, tools):
    row = relation(tools[0], tools[1], "provides", source="curated", origin="ann")
    EvidenceFactory(
        relation=row, source="schema", fields=[{"output": "/items/*/id", "input": "/geoId"}]
    )
    EvidenceFactory(relation=row, source="observed", confidence=None, successes=7, failures=1)
    shown = seen(client, page(ToolDependency, "change", row.pk))
    assert "its output /items/*/id feeds the parameter geoId" in shown
    assert "seen in 7 of 8 runs" in shown
    said = RelationEvidence.objects.get(source="schema")
    forged = {
        "evidence-TOTAL_FORMS": 1, "evidence-INITIAL_FORMS": 1, "evidence-0-id": said.pk,
        "evidence-0-relation": row.pk, "evidence-0-confidence": "0.1",
    }  # fmt: skip
    client.post(page(ToolDependency, "change", row.pk), forged | {"confidence": 1, "reason": "x"})
    assert RelationEvidence.objects.get(source="schema").confidence == 1.0
