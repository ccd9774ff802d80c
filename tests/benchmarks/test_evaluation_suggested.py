import json
from dataclasses import replace
from itertools import pairwise

import pytest
from django.core.management import call_command

from benchmarks.evaluation import run
from benchmarks.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from benchmarks.evaluation.report import report_to_json
from graph.models import PatternRun
from tests.fakes import FakeEmbedder

WORDS = ("flight", "hotel", "weather", "invoice", "photo", "recipe")


def tool(word):
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["metric", "imperial"]}},
        "required": ["city"],
    }
    return DatasetTool(
        id=f"id/{word}",
        server="s",
        name=word,
        title="",
        description=f"find {word}",
        input_schema=schema,
        category="",
    )


def query(number, *words, city="Paris"):
    tools = tuple(f"id/{word}" for word in words)
    return DatasetQuery(
        id=str(number),
        text=f'find {" and find ".join(words)} for "{city}"',
        slots=tuple(frozenset({one}) for one in tools),
        group=str(number),
        tools=tools,
        edges=tuple(pairwise(tools)),
        arguments=[{"tool": one, "args": {"city": city}} for one in tools],
    )


PAIRS = [(WORDS[at % 6], WORDS[(at + 1) % 6]) for at in range(24)]
HISTORY = tuple(query(number, *pair, city=f"Town {number}") for number, pair in enumerate(PAIRS))
ASKED = (
    query(100, "flight", "hotel", city="Lyon"),
    query(101, "hotel", "weather"),
    query(102, "photo", "flight"),
)


def evaluated(history=HISTORY, queries=ASKED):
    embedder = FakeEmbedder()
    data = Dataset(
        name="small", tools=tuple(map(tool, WORDS)), queries=queries, history=tuple(history)
    )
    return report_to_json(run.evaluate_dataset(data, embedder=embedder, caching_embedder=embedder))


@pytest.mark.django_db(transaction=True)
def test_suggestions_after_a_history_have_all_figures():
    report = evaluated()
    workflow, slices = report["workflow"], report["slices"]
    assert workflow["node_f1"] > 0.6
    assert all(0 <= value <= 1 for value in workflow.values())
    assert all(0 <= value <= 1 for value in report["binding"].values())
    assert report["calibration"]["ece"] is not None
    assert (slices["tool_set_seen"]["n"], slices["tool_set_unseen"]["n"]) == (2, 1)
    assert [point["past_intents"] for point in slices["learning_curve"]] == [0, 5, 6]
    assert slices["learning_curve"][-1]["node_f1"] == workflow["node_f1"]
    assert slices["history"]["runs"] == 24
    assert sum(band["n"] for band in slices["similarity"]) == 3
    assert slices["binding_given_calls_pooled"]["arguments"] == 6
    assert slices["calibration_of_constant"]["ece"] == pytest.approx(0)
    assert slices["gold_is_chain"] is True
    assert slices["suggestion_ms"]["p95"] > 0
    assert not PatternRun.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_without_history_a_suggestion_is_made_and_judged():
    report = evaluated(history=())
    assert report["workflow"]["node_f1"] is not None
    assert report["slices"]["learning_curve"] == []
    assert report["slices"]["similarity"] == []
    assert report["slices"]["tool_set_unseen"]["n"] == 3
    assert any(note.startswith("no history was provided") for note in report["slices"]["notes"])


@pytest.mark.django_db(transaction=True)
def test_search_learns_from_the_history():
    history = [query(number, "photo", "recipe") for number in range(12)]
    asked = query(50, "photo", "recipe")
    unlike = replace(asked, text="make it ready for the journey")
    taught = [replace(one, text=f"make it ready for journey {n}") for n, one in enumerate(history)]
    report = evaluated(history=taught, queries=(unlike,))
    assert report["retrieval"]["recall@5"] == 1
    assert report["retrieval"]["ndcg@10"] > report["slices"]["without_history"]["ndcg@10"]
    gain = report["slices"]["history_minus_none"]
    assert (gain["mean"] > 0, gain["against"]) == (True, "without_history")
    without = evaluated(history=(), queries=(unlike,))
    assert without["slices"]["without_graph"] == without["slices"]["without_history"]


@pytest.mark.django_db(transaction=True)
def test_the_command_prints_the_figures_of_suggestions(tmp_path, home, capsys):
    tools = [{"id": w, "server": "s", "name": w, "description": f"find {w}"} for w in WORDS]
    asked = [
        {"id": str(n), "text": f"find {a} and {b}", "gold_tools": [a, b], "gold_edges": [[a, b]]}
        for n, (a, b) in enumerate(PAIRS[:8])
    ]
    (tmp_path / "tools.jsonl").write_text("\n".join(map(json.dumps, tools)))
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, asked[:4])))
    (tmp_path / "past.jsonl").write_text("\n".join(map(json.dumps, asked[4:])))
    call_command("evaluate", str(tmp_path), "--history", str(tmp_path / "past.jsonl"))
    printed = capsys.readouterr().out
    assert "suggested after 4 past runs" in printed
    assert "calibration" in printed
    assert printed.count("learned on public development sets") == 1
    assert "no query has gold_args" in printed
    assert "no history" not in printed
