import json
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.management import CommandError, call_command

from gateway_project.management.commands import import_history
from gateway_project.models import AuditEntry
from graph import history_file
from graph.models import FittedModel, PatternRun, WorkflowPattern
from tests.factories import ServerFactory, TeamFactory, ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tools.embed import load
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed_catalogue import embed_missing
from tools.models import ToolEmbedding

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]


def row(key="r1", intent="Send the report", *tools, **more):
    tasks = [{"id": f"t{n}", "tool": tool} for n, tool in enumerate(tools or ("s:send",))]
    return {"id": key, "intent": intent, "tasks": tasks} | more


@pytest.fixture(autouse=True)
def embedder(monkeypatch):
    fake = CachedEmbedder(FakeEmbedder())
    for module in (load, import_history):
        monkeypatch.setattr(module, "make_embedder", lambda _config: fake)
    return fake


@pytest.fixture(autouse=True)
def tools(embedder):
    server = ServerFactory(name="s")
    for name in ("send", "read"):
        ToolFactory(server=server, name=name)
    ToolFactory(server=ServerFactory(name="other"), name="read")
    embed_missing(embedder)


@pytest.fixture
def write(tmp_path):
    def work(*lines):
        path = tmp_path / "runs.jsonl"
        told = [one if isinstance(one, str) else json.dumps(one) for one in lines]
        path.write_text("\n".join(told), encoding="utf-8")
        return path

    return work


def run(*options):
    out, errors = StringIO(), StringIO()
    call_command("import_history", *map(str, options), stdout=out, stderr=errors)
    return out.getvalue(), errors.getvalue()


def refused(*options):
    """Return the error a command ends with, and what it said before."""
    out, errors = StringIO(), StringIO()
    with pytest.raises(CommandError) as error:
        call_command("import_history", *map(str, options), stdout=out, stderr=errors)
    return str(error.value), out.getvalue(), errors.getvalue()


def test_runs_are_recorded_fitted_and_written_down(write):
    out, errors = run(write(row("r1"), row("r2"), row("r3", "Read it", "s:read", "s:send")))
    first, second, meaning = out.splitlines()
    assert first == "3 new runs, 0 known already; 2 new intents"
    assert second.startswith("Fitted to 3 runs of 2 different intents in ")
    assert meaning.startswith("Confidence is at most 0.69 until 20 runs have succeeded")
    assert errors == ""
    assert FittedModel.objects.get().figures["runs"] == 3
    entry = AuditEntry.objects.get(action="history.imported")
    assert (entry.subject, entry.detail) == ("runs.jsonl", {"runs": 3, "patterns": 2})


def test_a_file_imported_again_changes_nothing(write):
    file = write(row("r1"), row("r2"))
    run(file)
    before = FittedModel.objects.get().fitted_at
    assert run(file) == ("0 new runs, 2 known already; 0 new intents\n", "")
    assert FittedModel.objects.get().fitted_at == before
    assert AuditEntry.objects.filter(action="history.imported").count() == 1


def test_invalid_lines_are_named_and_all_others_imported(write):
    file = write(
        row("r1"),
        "",
        "{",
        row("r2", " \x00"),
        row("r3", "Send", "s:sent"),
        row("r4", "Send", "read"),
        row("r5"),
    )
    error, out, told = refused(file)
    assert error == f"4 lines of {file} not imported; all others were"
    assert out.startswith("2 new runs")
    assert told.splitlines() == [
        "line 3: not JSON: Expecting property name enclosed in double quotes at character 2",
        "line 4: the intent is empty: describe in words what should be done",
        "line 5: no tool 's:sent'; did you mean s:send?",
        "line 6: no tool 'read'; did you mean other:read or s:read?",
    ]
    assert PatternRun.objects.count() == 2


def test_a_unique_bare_tool_name_is_accepted(write):
    run(write(row("r1", "Send", "send")))
    assert WorkflowPattern.objects.get().tasks[0]["tool"] == "s:send"


def test_a_data_sets_queries_are_imported(write):
    gold = {"gold_tools": ["s:send", "s:read"], "gold_edges": [["s:read", "s:send"]]}
    _, told = run(write({"id": "q", "text": "Do it", **gold, "gold_args": [["send(x=1)"]]}))
    assert told.startswith("1 runs taken over without their arguments")
    assert [one["tool"] for one in WorkflowPattern.objects.get().tasks] == ["s:read", "s:send"]


def test_a_dry_run_stores_nothing(write):
    run(write(row("r1")))
    out, _ = run(write(row("r1"), row("r2"), row("r2")), "--dry-run")
    assert out == "1 new run, 2 known already; nothing was stored\n"
    assert PatternRun.objects.count() == 1


def test_runs_can_be_imported_for_a_team(write):
    team = TeamFactory(name="ops")
    run(write(row()), "--team", "ops")
    assert PatternRun.objects.get().team == team
    assert FittedModel.objects.get().team == team
    error, *_ = refused(write(row()), "--team", "opps")
    assert error == "no team 'opps'; there are: ops"


def test_the_report_can_be_json(write):
    error, out, told = refused(write(row(), "x"), "--json")
    report = json.loads(out)
    assert (report["new"], report["patterns"], report["problem_count"], told) == (1, 1, 1, "")
    assert report["problems"][0]["line"] == 2
    assert report["fitted"][0]["patterns"] == 1
    assert error.startswith("1 line of")


def test_standard_input_is_read(monkeypatch):
    content = BytesIO(b"\xef\xbb\xbf" + json.dumps(row()).encode() + b"\r\n")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(content))
    assert run("-")[0].startswith("1 new run")


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_one_clear_line(tmp_path, content):
    file = tmp_path / "empty.jsonl"
    file.write_text(content, encoding="utf-8")
    error, *_ = refused(file)
    assert error == f"nothing was imported from {file}: it is empty; a run is one line of JSON"


def test_an_unreadable_file_is_one_clear_line(tmp_path, write, monkeypatch):
    assert refused(tmp_path / "none.jsonl")[0] == f"no file {str(tmp_path / 'none.jsonl')!r}"
    assert refused(tmp_path)[0] == f"{tmp_path} cannot be read: Is a directory"
    monkeypatch.setattr(history_file, "MAX_BYTES", 10)
    assert "split it" in refused(write(row()))[0]


def test_recording_runs_requires_permission(write):
    UserFactory(username="guest")
    assert refused(write(row()), "--user", "guest")[0].startswith("'guest' may not record runs")


def test_without_the_model_runs_are_recorded_with_instructions(write, embedder, monkeypatch):
    def missing(*_, **__):
        raise EmbeddingUnavailable("no model")

    monkeypatch.setattr(embedder, "embed", missing)
    out, told = run(write(row()))
    assert out.startswith("1 new run")
    assert "1 patterns have no vectors" in told
    assert "`manage.py embed`" in told


def test_a_line_that_is_nested_too_deeply_is_named_and_all_others_are_imported(write):
    deep = json.dumps(row("r2")).replace('"s:send"', '"s:send", "arguments": {"x": %s}')
    error, out, told = refused(write(row("r1"), deep % ("[" * 600 + "]" * 600), row("r3")))
    assert told.splitlines() == ["line 2: it is nested deeper than 200 levels"]
    assert out.startswith("2 new runs")
    assert error.startswith("1 line of")


def test_runs_of_a_teams_own_tool_are_imported_for_that_team(write):
    team = TeamFactory(name="ops")
    ToolFactory(server=ServerFactory(name="p", team=team), name="x")
    _, _, told = refused(write(row("r1", "Do x", "p:x")))
    assert told.startswith(
        "line 1: only the team 'ops' sees the tool 'p:x': import such runs with"
    )
    assert run(write(row("r1", "Do x", "p:x")), "--team", "ops")[0].startswith("1 new run")


def test_the_reason_for_not_fitting_is_reported(write, monkeypatch, settings):
    _, told = run(write(row("r0", succeeded=False)))
    assert told == "nothing could be fitted: no successful run is recorded\n"
    ToolEmbedding.objects.all().delete()
    _, told = run(write(row("r1")))
    assert "no tool has vectors by fake/words: run `manage.py embed`" in told
    embed_missing(CachedEmbedder(FakeEmbedder()))
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"search_memory_mb": 0})
    _, told = run(write(row("r2")))
    assert "FOREGATE_SEARCH_MEMORY_MB" in told
