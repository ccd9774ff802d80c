import json

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks.evaluation import run, scratch
from benchmarks.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from benchmarks.evaluation.report import RANKING_METHODS, RETRIEVAL_FIGURES, report_to_json
from graph.exchange.document import StatedRelation
from graph.relations import RelationKind
from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed import load
from tools.models import Tool

WORDS = ("alpha", "beta", "gamma", "delta")
TOOLS = tuple(
    DatasetTool(
        id=f"id/{word}",
        server="s",
        name=word,
        title="",
        description=f"about {word}",
        input_schema={},
        category="c",
    )
    for word in WORDS
)


def query(text, *gold):
    slots = tuple(frozenset({f"id/{word}"}) for word in gold)
    return DatasetQuery(id=text, text=text, slots=slots, group=text)


def data(*queries, relations=()):
    return Dataset(
        name="small", tools=TOOLS, queries=queries, history=(), relations=tuple(relations)
    )


def evaluate(dataset, **values):
    embedder = FakeEmbedder()
    return run.evaluate_dataset(dataset, embedder=embedder, caching_embedder=embedder, **values)


@pytest.mark.django_db(transaction=True)
def test_search_results_are_judged_for_each_ranking_method():
    ToolFactory(name="mine")
    told = []
    report = evaluate(
        data(query("alpha about", "alpha"), query("beta. and then gamma", "beta", "gamma")),
        on_progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    assert (report.n, report.tools) == (2, 4)
    assert report.retrieval["fused"]["recall@10"] == 1
    assert report.retrieval["lexical"]["complete@10"] == 1
    assert set(report.retrieval) == set(RANKING_METHODS)
    assert report.best in {"dense", "lexical"}
    assert ("searching", 2, 2) in told
    assert [tool.name for tool in Tool.objects.all()] == ["mine"]


@pytest.mark.django_db(transaction=True)
def test_the_graph_is_judged_against_its_baselines():
    needs = StatedRelation(source="id/alpha", target="id/delta", kind=RelationKind.DEPENDS_ON)
    asked = query("alpha", "alpha", "delta")
    report = report_to_json(evaluate(data(asked, relations=[needs])))
    with_it, slices = report["retrieval"], report["slices"]
    assert (with_it["ndcg@10"], with_it["ap@10"]) == (1, 1)
    assert slices["without_graph"]["ndcg@10"] < 1
    assert slices["graph_minus_none"]["mean"] > 0
    assert slices["graph_minus_none"]["against"] == "without_graph"
    assert slices["closure"]["complete@10"] == 1
    assert slices["pagerank_sorted"]["recall@1"] == 0.5
    assert slices["two_hop"]["recall@10"] == 1
    assert slices["relations"] == 1
    assert slices["enhancement_ms"]["p95"] > 0


@pytest.mark.django_db(transaction=True)
def test_queries_without_gold_are_run_but_not_judged():
    report = report_to_json(evaluate(data(query("alpha"))))
    assert report["n"] == 1
    assert set(report["retrieval"].values()) == {None}
    assert report["slices"]["fused_minus_best"] is None
    assert report["latency_ms"]["p50"] > 0


@pytest.mark.django_db(transaction=True)
def test_a_failed_evaluation_leaves_nothing_behind():
    class Fault(Exception):
        pass

    def fail(*_):
        raise Fault

    with pytest.raises(Fault):
        evaluate(data(query("alpha", "alpha")), on_progress=fail)
    assert schemas() == []
    assert not Tool.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_schemas_of_killed_evaluations_are_dropped_but_not_of_running_ones():
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {scratch.SCHEMA_PREFIX}dead")
    with scratch.open_scratch_schema() as name:
        assert schemas() == [name]
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [name])
                assert cursor.fetchone() == (False,)
        finally:
            other.close()
    assert schemas() == []


def schemas():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)",
            [scratch.SCHEMA_PREFIX],
        )
        return [row[0] for row in cursor.fetchall()]


@pytest.mark.django_db(transaction=True)
def test_the_command_reports_in_the_documented_shape(tmp_path, home, capsys):
    tool = {"id": "1", "server": "clock", "name": "get_time", "description": "Current time."}
    asked = {"id": "q", "text": "what time is it", "gold_tools": ["1"]}
    (tmp_path / "tools.jsonl").write_text(json.dumps(tool))
    (tmp_path / "queries.jsonl").write_text(json.dumps(asked))
    call_command("evaluate", str(tmp_path), "--json")
    report = json.loads(capsys.readouterr().out)
    assert list(report) == [
        "n",
        "retrieval",
        "workflow",
        "binding",
        "calibration",
        "latency_ms",
        "slices",
    ]
    assert report["retrieval"] == dict.fromkeys(RETRIEVAL_FIGURES, 1.0)
    assert set(report["calibration"]) == {"ece", "brier", "auroc", "coverage_at_95"}
    call_command("evaluate", str(tmp_path))
    printed = capsys.readouterr().out
    assert "text alone minus" in printed
    assert "with the graph minus without" in printed


@pytest.mark.django_db
def test_the_command_names_the_line_of_a_bad_relation(tmp_path, home):
    tool = {"id": "1", "server": "clock", "name": "get_time", "description": "Current time."}
    (tmp_path / "tools.jsonl").write_text(json.dumps(tool))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "q", "text": "time"}))
    (tmp_path / "graph.jsonl").write_text('\n{"source": "1", "target": "2", "type": "x"}')
    with pytest.raises(CommandError, match=r"graph.jsonl, line 2: type 'x' is unknown"):
        call_command("evaluate", str(tmp_path))


@pytest.mark.django_db
def test_the_command_says_what_is_wrong_in_one_line(tmp_path, home):
    with pytest.raises(CommandError, match="is not a folder"):
        call_command("evaluate", str(tmp_path / "absent"))
    with pytest.raises(CommandError, match="whole number from 1"):
        call_command("evaluate", str(tmp_path), "--limit", "0")


@pytest.mark.django_db(transaction=True)
def test_the_embed_command_prepares_a_model_and_says_how_to_use_it(home, capsys, monkeypatch):
    ToolFactory()
    monkeypatch.setattr(load, "make_embedder", lambda *_, **__: FakeEmbedder(model="a/other"))
    call_command("embed", "--model", "a/other")
    assert "set FOREGATE_EMBEDDING_MODEL=a/other" in capsys.readouterr().out
    call_command("embed", "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["model"], report["embedded"], report["covered"], report["tools"]) == (
        "a/other",
        0,
        1,
        1,
    )


@pytest.mark.django_db
def test_the_embed_command_refuses_an_unknown_model_in_one_line(home):
    with pytest.raises(CommandError, match="no recipe for the model 'no/such'"):
        call_command("embed", "--model", "no/such")
