import json
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.management import CommandError, call_command

from gateway_project.models import AuditEntry
from graph.exchange.read import GraphFormat
from graph.models import RelationEvidence, ToolDependency, ToolMetric
from tests.factories import ServerFactory, TeamFactory, ToolFactory, UserFactory

pytestmark = pytest.mark.django_db

ROW = {"source": "s:a", "target": "s:b", "kind": "precedes", "confidence": 0.5}


@pytest.fixture(autouse=True)
def tools():
    server = ServerFactory(name="s")
    return {name: ToolFactory(server=server, name=name).pk for name in "abc"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(ROW), encoding="utf-8")
    return path


def run(command, *options):
    out, errors = StringIO(), StringIO()
    call_command(command, *map(str, options), stdout=out, stderr=errors)
    return out.getvalue(), errors.getvalue()


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".graphml"])
def test_an_exported_file_can_be_imported(file, tmp_path, suffix):
    run("import_graph", file)
    other = tmp_path / f"out{suffix}"
    out, _ = run("export_graph", other)
    assert out == f"1 relations between 2 tools written to {other}\n"
    ToolDependency.objects.all().delete()
    out, errors = run("import_graph", other)
    assert (out, errors) == ("1 new, 0 changed, 0 the same, 0 left out\n", "")
    assert RelationEvidence.objects.get().confidence == 0.5
    assert list(tmp_path.iterdir()) in ([file, other], [other, file])


@pytest.mark.parametrize("form", GraphFormat)
def test_a_graph_is_exported_to_standard_output(file, form):
    run("import_graph", file)
    out, _ = run("export_graph", "--format", form)
    assert "s:b" in out
    assert out.startswith("<?xml" if form is GraphFormat.GRAPHML else "{")


def test_a_part_is_exported(file):
    run("import_graph", file)
    out, _ = run("export_graph", "--around", "s:a", "--hops", "0")
    assert [tool["id"] for tool in json.loads(out)["tools"]] == ["s:a"]


def test_an_import_recomputes_the_metrics_that_are_exported(file):
    run("import_graph", file)
    computed = {f"s:{one.tool.name}": one.pagerank for one in ToolMetric.objects.all()}
    out, _ = run("export_graph", "--metrics")
    ranks = {tool["id"]: tool["pagerank"] for tool in json.loads(out)["tools"]}
    assert ranks == {tool: computed[tool] for tool in ("s:a", "s:b")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--team", "nobody"], "no team 'nobody'; there are: red"),
        (["--hops", "2"], "--hops counts from a tool; name one with --around"),
        (["--hops", "-1", "--around", "s:a"], "--hops must be 0 or more"),
        (["--around", "s:aa"], "no tool 's:aa' in the graph; did you mean s:a?"),
        (["--around", "zzz"], "no tool 'zzz' in the graph; `manage.py graph_stats`"),
        (["out.txt"], "out.txt: its name implies no format; add --format (json, jsonl, graphml)"),
        (["/nowhere/at/all.json"], "/nowhere/at/all.json cannot be written: No such file"),
    ],
)
def test_a_failed_export_reports_the_reason(file, options, message):
    TeamFactory(name="red")
    run("import_graph", file)
    with pytest.raises(CommandError) as caught:
        run("export_graph", *options)
    assert message in str(caught.value)


def test_an_import_is_written_down_once(file):
    run("import_graph", file)
    run("import_graph", file)
    [entry] = AuditEntry.objects.filter(action="relations.imported")
    assert (entry.subject, entry.detail) == ("mine.jsonl", {"added": 1, "changed": 0})


def test_a_dry_run_shows_the_changes_and_stores_nothing(file):
    out, _ = run("import_graph", file, "--dry-run")
    assert "new  s:a precedes s:b" in out
    assert "1 new, 0 changed, 0 the same, 0 left out; nothing was stored" in out
    assert not ToolDependency.objects.exists()
    assert not AuditEntry.objects.filter(action="relations.imported").exists()


def test_an_import_is_reported_as_json(file):
    out, _ = run("import_graph", file, "--json", "--curated")
    report = json.loads(out)
    assert report["new"] == 1
    assert report["changes"] == [
        {"line": 1, "source": "s:a", "target": "s:b", "kind": "precedes", "change": "new"}
    ]
    said = RelationEvidence.objects.get()
    assert (said.source, said.origin) == ("curated", "admin")


def test_warnings_are_separate_from_the_report(file):
    file.write_text(json.dumps(ROW | {"weight": 3}), encoding="utf-8")
    _, errors = run("import_graph", file)
    assert errors == "line 1: unknown field 'weight' ignored\n"


def test_a_team_adopts_observed_relations(file):
    observed = {"source": "observed", "successes": 2, "team": "old"}
    file.write_text(json.dumps(ROW | {"evidence": [observed]}), encoding="utf-8")
    team = TeamFactory(name="red")
    assert "1 left out" in run("import_graph", file)[0]
    run("import_graph", file, "--team", "red")
    assert RelationEvidence.objects.get().team == team


def test_a_bad_file_is_refused_with_every_problem_by_line(file):
    rows = [ROW | {"confidence": 2}, ROW | {"target": "s:x"}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    errors = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_graph", str(file), stderr=errors)
    assert str(caught.value) == f"nothing was imported from {file}: 2 problems"
    assert errors.getvalue().splitlines() == [
        "line 1: confidence must be a number from 0 to 1, not 2",
        "line 2: no tool 's:x'; did you mean s:c or s:b or s:a?",
    ]
    assert not ToolDependency.objects.exists()


def test_problems_are_reported_as_json_too(file):
    file.write_text("{\n" * 30, encoding="utf-8")
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("import_graph", str(file), "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert (report["imported"], report["problem_count"], len(report["problems"])) == (
        False,
        30,
        20,
    )


def test_standard_input_is_imported(monkeypatch):
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(json.dumps(ROW).encode())))
    assert "1 new" in run("import_graph", "-")[0]
    assert RelationEvidence.objects.get().origin == "standard input"


def test_relations_of_unknown_tools_can_be_skipped(file):
    file.write_text(json.dumps(ROW | {"target": "s:x"}), encoding="utf-8")
    out, errors = run("import_graph", file, "--skip-unknown")
    assert "1 left out" in out
    assert "their tools are not here" in errors


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(CommandError, match="no file"):
        run("import_graph", tmp_path / "none.json")
    with pytest.raises(CommandError, match="cannot be read: Is a directory"):
        run("import_graph", tmp_path)


def test_importing_requires_permission_to_change_relations(file):
    UserFactory(username="eve")
    with pytest.raises(CommandError, match="'eve' may not change relations"):
        run("import_graph", file, "--user", "eve")
