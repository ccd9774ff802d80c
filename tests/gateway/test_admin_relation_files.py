"""Relations come from files and go into files, in the console."""

import json
import re

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

import gateway_project.urls  # noqa: F401 - finds the pages
from gateway_project.console import relation_files
from gateway_project.models import AuditEntry
from graph.models import RelationEvidence, ToolDependency
from tests.factories import TeamFactory, UserFactory
from tests.gateway.admin_pages import entries, relation, three_tools

pytestmark = pytest.mark.django_db

IMPORT = reverse("admin:graph_tooldependency_import")
ROW = {"source": "git:commit", "target": "s0:add", "kind": "depends_on"}


@pytest.fixture(autouse=True)
def tools():
    return three_tools()


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def upload(client, data, name="graph.jsonl", **options):
    return client.post(IMPORT, {"file": SimpleUploadedFile(name, data), **options})


def carried(response):
    return re.search(r'name="content" value="([^"]+)"', response.content.decode()).group(1)


def confirm(client, response):
    return client.post(IMPORT, {"content": carried(response)}, follow=True).content.decode()


def test_a_file_is_previewed_and_imported_on_confirmation(client, root):
    shown = upload(client, lines(ROW))
    text = shown.content.decode()
    assert "1 new relation," in text
    assert "git:commit" in text
    assert not ToolDependency.objects.exists()
    assert ">Imported graph.jsonl: 1 new, 0 changed.<" in confirm(client, shown)
    said = RelationEvidence.objects.get()
    assert (said.source, said.origin) == ("imported", "graph.jsonl")
    assert entries() == [("relations.imported", "graph.jsonl", "root")]
    assert AuditEntry.objects.get().detail == {"added": 1, "changed": 0}


def test_a_file_can_be_imported_as_curated(client, root):
    confirm(client, upload(client, lines(ROW), as_curated="on"))
    said = RelationEvidence.objects.get()
    assert (said.source, said.origin) == ("curated", "root")


def test_problems_are_listed_by_line_and_nothing_is_imported(client, root):
    bad = [ROW, ROW | {"target": "s0:ad"}, ROW | {"kind": "<b>likes"}]
    response = upload(client, lines(*bad))
    text = response.content.decode()
    problems = response.context["refused"].problems
    assert [problem.line for problem in problems] == [2, 3]
    assert "did you mean s0:add?" in text
    assert "<b>likes" not in text
    assert 'name="content"' not in text
    assert not ToolDependency.objects.exists()
    assert entries() == []


def test_unknown_tools_may_be_left_out(client, root):
    rows = lines(ROW, ROW | {"target": "s9:gone"})
    shown = upload(client, rows, skip_unknown="on")
    assert "1 relations left out" in shown.content.decode()
    confirm(client, shown)
    assert ToolDependency.objects.count() == 1


def test_a_file_invalid_since_its_preview_is_refused(client, root, tools):
    shown = upload(client, lines(ROW))
    tools[1].delete()
    assert "Nothing of graph.jsonl was imported" in confirm(client, shown)
    assert not ToolDependency.objects.exists()


def test_a_file_that_changes_nothing_offers_nothing(client, root):
    confirm(client, upload(client, lines(ROW)))
    text = upload(client, lines(ROW)).content.decode()
    assert "There is nothing to import" in text
    assert 'name="content"' not in text


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.graphml", "x"])
def test_an_empty_or_unknown_file_is_one_clear_problem(client, root, name):
    for data in (b"", b"\xff\xfe\x00", b"<html>", b"[1,"):
        response = upload(client, data, name=name)
        refused = response.context.get("refused")
        preview = response.context.get("preview")
        assert refused is not None or (data and not preview.changes)


def test_exactly_the_previewed_file_is_imported(client, root):
    forged = carried(upload(client, lines(ROW)))[:-3] + "abc"
    text = client.post(IMPORT, {"content": forged}, follow=True).content.decode()
    assert "choose the file again" in text
    assert not ToolDependency.objects.exists()


def test_a_file_must_be_chosen_and_must_not_be_too_large(client, root, monkeypatch):
    assert "This field is required" in client.post(IMPORT, {}).content.decode()
    monkeypatch.setattr(relation_files, "MAX_FILE_BYTES", 3)
    assert "split it" in upload(client, lines(ROW)).content.decode()


def test_a_file_too_large_for_the_page_points_to_the_command(client, root, monkeypatch):
    monkeypatch.setattr(relation_files, "MAX_FORM_CHARS", 3)
    text = upload(client, lines(ROW)).content.decode()
    assert "manage.py import_graph" in text
    assert 'name="content"' not in text


@pytest.mark.parametrize("permissions", [["add"], ["change"], ["view"]])
def test_importing_requires_add_and_change_permissions(client, permissions):
    user = UserFactory(staff=True)
    names = [f"{name}_tooldependency" for name in permissions]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(user)
    assert client.get(IMPORT).status_code == 403
    assert upload(client, lines(ROW)).status_code == 403


@pytest.mark.parametrize("form", ["json", "graphml"])
def test_an_export_can_be_imported_and_has_no_team_observations(client, root, tools, form):
    relation(tools[0], tools[1], source="curated", origin="ann")
    relation(tools[1], tools[2], source="observed", team=TeamFactory(), successes=3)
    response = client.get(reverse("admin:graph_tooldependency_export", args=[form]))
    assert f"foregate-graph.{form}" in response["Content-Disposition"]
    assert b"s1:status" not in response.content
    ToolDependency.objects.all().delete()
    confirm(client, upload(client, response.content, name=f"again.{form}"))
    assert ToolDependency.objects.get().target == tools[1]


def test_other_formats_and_users_get_no_export(client, root):
    address = reverse("admin:graph_tooldependency_export", args=["csv"])
    assert client.get(address).status_code == 404
    client.force_login(UserFactory(staff=True))
    address = reverse("admin:graph_tooldependency_export", args=["json"])
    assert client.get(address).status_code == 403
