"""People curate relations in the console: who sees what, what is refused, what is written down."""

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

import gateway_project.urls  # noqa: F401 - finds the pages
from gateway_project.console import relation_pages
from gateway_project.models import AuditEntry
from graph.models import RelationEvidence, ToolDependency
from tests.factories import (
    RelationFactory,
    UserFactory,
)
from tests.gateway.admin_pages import (
    ADD,
    LIST,
    act,
    entries,
    page,
    relation,
)

pytestmark = pytest.mark.django_db


def values(source, kind, target, **others):
    data = {"source": source.pk, "kind": kind, "target": target.pk, "confidence": "1"}
    inline = {"evidence-TOTAL_FORMS": 0, "evidence-INITIAL_FORMS": 0}
    return data | inline | others


def add(client, *args, **others):
    return client.post(ADD, values(*args, **others), follow=True).content.decode()


def test_a_new_relation_is_curated_by_its_author(client, root, tools):
    commit, stage, _ = tools
    add(client, commit, "depends_on", stage, required="on", confidence="0.8")
    row = ToolDependency.objects.get()
    said = RelationEvidence.objects.get()
    assert (row.source, row.target, row.required) == (commit, stage, True)
    assert (said.source, said.origin, said.confidence, said.team) == ("curated", "root", 0.8, None)
    assert entries() == [("relation.registered", "git:commit depends on s0:add", "root")]


def test_required_counts_only_for_dependencies(client, root, tools):
    add(client, tools[0], "depends_on", tools[1])
    add(client, tools[0], "precedes", tools[1])
    found = dict(ToolDependency.objects.values_list("kind", "required"))
    assert found == {"depends_on": False, "precedes": True}


def test_details_of_a_replacement_are_stored(client, root, tools):
    fields = {"version": "2.0", "deprecated_at": "2026-05-01", "reason": "faster"}
    add(client, tools[0], "replaces", tools[1], **fields)
    row = ToolDependency.objects.get()
    assert (row.version, str(row.deprecated_at), row.reason) == ("2.0", "2026-05-01", "faster")


@pytest.mark.parametrize(
    ("kind", "others", "said"),
    [
        ("precedes", {"version": "2"}, "Only “replaces” has this"),
        ("depends_on", {"deprecated_at": "2026-05-01"}, "Only “replaces” has this"),
        ("depends_on", {"confidence": "1.5"}, "less than or equal to 1"),
        ("depends_on", {"confidence": "nan"}, "Enter a number"),
        ("likes", {}, "likes is not one of the available choices"),
    ],
)
def test_fields_of_other_kinds_are_refused(client, root, tools, kind, others, said):
    assert said in add(client, tools[0], kind, tools[1], **others)
    assert not ToolDependency.objects.exists()


def test_a_tool_is_not_related_to_itself(client, root, tools):
    assert "between two tools" in add(client, tools[0], "precedes", tools[0])
    assert not ToolDependency.objects.exists()


def test_a_relation_that_is_there_is_named_and_linked(client, root, tools):
    row = relation(tools[0], tools[1], source="schema")
    shown = add(client, tools[0], "depends_on", tools[1])
    assert page(ToolDependency, "change", row.pk) in shown
    assert "git:commit requires s0:add" in shown
    assert "is already stored" in shown
    assert "already exists" not in shown


def test_a_symmetric_relation_is_found_in_both_directions(client, root, tools):
    relation(tools[0], tools[1], "alternative_to", source="curated")
    assert "is already stored" in add(client, tools[1], "alternative_to", tools[0])
    assert ToolDependency.objects.count() == 1


@pytest.mark.parametrize("kind", ["alternative_to", "mutually_exclusive", "often_used_with"])
def test_a_symmetric_relation_can_be_entered_in_either_direction(client, root, tools, kind):
    first, second, _ = sorted(tools, key=lambda tool: tool.pk)
    add(client, second, kind, first, reason="Either.")
    row = ToolDependency.objects.get()
    assert (row.source, row.target, row.kind, row.reason) == (first, second, kind, "Either.")


def test_a_directed_relation_is_not_reversed(client, root, tools):
    first, second, _ = sorted(tools, key=lambda tool: tool.pk)
    add(client, second, "precedes", first)
    assert ToolDependency.objects.get().source == second


def test_a_rejected_relation_is_not_added_anew(client, root, tools):
    RelationFactory(source=tools[0], target=tools[1], rejected=True)
    assert "was rejected" in add(client, tools[0], "depends_on", tools[1])
    assert ToolDependency.objects.get().rejected


@pytest.mark.parametrize(
    ("there", "kind", "required"),
    [
        ("mutually_exclusive", "depends_on", "on"),
        ("depends_on", "mutually_exclusive", ""),
        ("replaces", "replaces", ""),
    ],
)
def test_a_contradiction_is_refused_naming_the_other_relation(
    client, root, tools, there, kind, required
):
    row = relation(tools[1], tools[0], there, source="curated")
    shown = add(client, tools[0], kind, tools[1], **({"required": "on"} if required else {}))
    assert "keep one of the two" in shown
    assert page(ToolDependency, "change", row.pk) in shown
    assert ToolDependency.objects.count() == 1


def test_a_rejected_relation_contradicts_nothing(client, root, tools):
    RelationFactory(source=tools[0], target=tools[1], kind="mutually_exclusive", rejected=True)
    add(client, tools[0], "depends_on", tools[1], required="on")
    assert ToolDependency.objects.filter(rejected=False).count() == 1


def test_a_dependency_that_closes_a_cycle_is_stored_with_a_warning_that_names_it(
    client, root, tools
):
    commit, stage, status = tools
    relation(stage, status, source="curated", confidence=0.9)
    relation(status, commit, source="schema", confidence=0.4)
    shown = add(client, commit, "depends_on", stage, required="on")
    assert ToolDependency.objects.count() == 3
    assert "git:commit → s0:add → s1:status → git:commit" in shown
    assert "the weakest is left out: “s1:status requires git:commit”" in shown


def test_a_dependency_without_a_cycle_warns_of_nothing(client, root, tools):
    relation(tools[1], tools[2], source="curated")
    assert "cycle" not in add(client, tools[0], "depends_on", tools[1])


def change(client, row, **others):
    data = values(row.source, row.kind, row.target, required="on") | others
    return client.post(page(ToolDependency, "change", row.pk), data, follow=True)


def test_saving_a_derived_relation_curates_it_and_keeps_other_evidence(client, root, tools):
    row = relation(tools[0], tools[1], source="schema", confidence=0.6)
    change(client, row, reason="seen it", confidence="0.7")
    said = dict(RelationEvidence.objects.values_list("source", "confidence"))
    assert said == {"schema": 0.6, "curated": 0.7}
    assert ToolDependency.objects.get().reason == "seen it"
    assert entries() == [("relation.changed", "git:commit depends on s0:add", "root")]
    detail = AuditEntry.objects.get().detail
    assert "reason" in detail["changed"]


def test_saving_an_unchanged_relation_is_not_audited(client, root, tools):
    row = relation(tools[0], tools[1], source="curated", confidence=1.0)
    assert change(client, row).status_code == 200
    assert entries() == []


def test_source_target_and_kind_of_a_relation_cannot_change(client, root, tools):
    row = relation(tools[0], tools[1], source="curated")
    change(client, row, target=tools[2].pk, kind="precedes", reason="x")
    stored = ToolDependency.objects.get()
    assert (stored.target, stored.kind, stored.reason) == (tools[1], "depends_on", "x")


def test_relations_are_confirmed_together_and_written_down(client, root, tools):
    rows = [
        relation(tools[0], tools[1], source="schema", confidence=0.5),
        relation(tools[0], tools[2], source="curated", origin="ann"),
    ]
    shown = act(client, ToolDependency, "confirm", *rows)
    assert "1 of 2 relations confirmed (the others were already, or are rejected)" in shown
    said = RelationEvidence.objects.get(relation=rows[0], source="curated")
    assert (said.origin, said.confidence) == ("root", 1.0)
    assert RelationEvidence.objects.get(relation=rows[1]).origin == "ann"
    assert entries() == [("relation.confirmed", "git:commit depends on s0:add", "root")]


def test_a_rejected_relation_keeps_its_evidence_and_can_be_restored(client, root, tools):
    row = relation(tools[0], tools[1], source="schema", confidence=0.5)
    assert "1 of 1 relations rejected" in act(client, ToolDependency, "reject", row)
    assert ToolDependency.objects.get().rejected
    assert "0 of 1" in act(client, ToolDependency, "reject", row)
    assert "1 of 1 relations no longer rejected" in act(client, ToolDependency, "restore", row)
    assert not ToolDependency.objects.get().rejected
    assert RelationEvidence.objects.get().source == "schema"
    assert [action for action, _, _ in entries()] == ["relation.rejected", "relation.restored"]


def test_a_rejected_relation_is_not_edited(client, root, tools):
    row = RelationFactory(source=tools[0], target=tools[1], rejected=True)
    shown = client.get(page(ToolDependency, "change", row.pk)).content.decode()
    assert "Un-reject" in shown
    assert 'name="_save"' not in shown
    change(client, row, reason="x")
    assert ToolDependency.objects.get().reason == ""


def test_a_page_offers_to_judge_the_relation(client, root, tools):
    row = relation(tools[0], tools[1], source="schema")
    shown = client.get(page(ToolDependency, "change", row.pk)).content.decode()
    assert 'value="confirm"' in shown
    assert 'value="reject"' in shown


def test_deleting_explains_its_limits_and_is_audited(client, root, tools):
    rows = [relation(tools[0], tool, source="schema") for tool in tools[1:]]
    asked = act(client, ToolDependency, "delete_selected", *rows)
    assert "Reject a relation instead" in asked
    assert "git:commit depends on s0:add" in asked
    act(client, ToolDependency, "delete_selected", rows[0], post="yes")
    url = page(ToolDependency, "delete", rows[1].pk)
    assert "Reject a relation instead" in client.get(url).content.decode()
    client.post(url, {"post": "yes"})
    assert not ToolDependency.objects.exists()
    assert [action for action, _, _ in entries()] == ["relation.deleted"] * 2


@pytest.mark.parametrize("action", ["confirm", "reject", "restore", "delete_selected"])
def test_not_too_many_at_a_time(client, root, tools, monkeypatch, action):
    monkeypatch.setattr(relation_pages, "MAX_SELECTED", 1)
    rows = [relation(tools[0], tool, source="schema") for tool in tools[1:]]
    told = act(client, ToolDependency, action, *rows, post="yes")
    assert "at most 1 relations" in told
    assert "Narrow the list" in told
    assert ToolDependency.objects.filter(rejected=False).count() == 2
    assert entries() == []


def test_a_change_that_cannot_be_audited_is_not_made(client, root, tools, monkeypatch):
    row = relation(tools[0], tools[1], source="schema")

    def refuse(*_, **__):
        raise RuntimeError("the trail cannot be written")

    monkeypatch.setattr("gateway_project.access.audit.record_audit", refuse)
    for action in ("confirm", "reject"):
        with pytest.raises(RuntimeError, match="trail"):
            act(client, ToolDependency, action, row)
    assert not ToolDependency.objects.get().rejected
    assert RelationEvidence.objects.count() == 1


@pytest.mark.parametrize("action", ["confirm", "reject", "restore", "delete_selected"])
def test_view_permission_allows_no_change(client, tools, action):
    user = UserFactory(staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_tooldependency"))
    client.force_login(user)
    row = relation(tools[0], tools[1], source="schema")
    assert client.get(LIST).status_code == 200
    shown = client.get(page(ToolDependency, "change", row.pk)).content.decode()
    assert "derived" not in shown
    assert 'value="reject"' not in shown
    assert "Import a file" not in client.get(LIST).content.decode()
    act(client, ToolDependency, action, row, post="yes")
    assert client.get(ADD).status_code == 403
    assert client.get(reverse("admin:graph_tooldependency_import")).status_code == 403
    assert ToolDependency.objects.filter(rejected=False).count() == 1
    assert RelationEvidence.objects.count() == 1


def test_staff_with_the_permissions_curate(client, staff, tools):
    row = relation(tools[0], tools[1], source="schema")
    act(client, ToolDependency, "reject", row)
    assert ToolDependency.objects.get().rejected
    client.post(page(ToolDependency, "delete", row.pk), {"post": "yes"})
    assert not ToolDependency.objects.exists()
