from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from benchmarks.evaluation import prefetch
from benchmarks.evaluation.dataset import DatasetError
from benchmarks.evaluation.session_files import load_sessions
from execution.speculation.waste_budget import WasteBudget
from graph.suggestion.next_call.call import PredictedCall

TOOLS = [
    {"id": "s:get_user", "server": "s", "name": "get_user", "access": "read",
     "input_schema": {"type": "object", "properties": {"user_id": {"type": "string"}},
                      "required": ["user_id"]}},
    {"id": "s:get_order", "server": "s", "name": "get_order", "access": "read",
     "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}},
                      "required": ["order_id"]}},
    {"id": "s:cancel", "server": "s", "name": "cancel_order", "access": "write",
     "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}},
                      "required": ["order_id"]}},
]  # fmt: skip


def make_session(number: int) -> dict:
    orders = [f"O-{number}-{n}" for n in range(3)]
    return {
        "id": f"session {number}",
        "group": f"group {number}",
        "turns": [
            {
                "user": f"I am user U-{number}.",
                "calls": [
                    {"tool": "s:get_user", "arguments": {"user_id": f"U-{number}"},
                     "result": {"orders": orders}, "is_error": False},
                    *({"tool": "s:get_order", "arguments": {"order_id": order},
                       "result": {"total": 7}, "is_error": False} for order in orders),
                    {"tool": "s:cancel", "arguments": {"order_id": orders[0]},
                     "result": "done", "is_error": False},
                ],
            }
        ],
    }  # fmt: skip


def write_lines(path: Path, rows: list) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "tools.jsonl", TOOLS)
    write_lines(tmp_path / "sessions.jsonl", [make_session(n) for n in range(4)])
    write_lines(tmp_path / "history.jsonl", [make_session(n) for n in range(10, 30)])
    return tmp_path


def ignore_progress(*_: object) -> None:
    """Nobody watches."""


def test_a_regular_client_is_served_from_what_earlier_sessions_taught(folder):
    data = load_sessions(
        folder, sessions=folder / "sessions.jsonl", history=folder / "history.jsonl"
    )

    report = prefetch.evaluate_prefetch(data, on_progress=ignore_progress)

    figures = {found["budget"]: found for found in report["prefetch"]}
    assert list(figures) == [0.25, 0.5, 0.75]
    assert figures[0.5]["hit_rate"] >= 0.7
    assert figures[0.5]["waste"] <= 0.5
    assert figures[0.5]["stale"] == 0
    with_intent = {found["budget"]: found for found in report["prefetch_with_intent"]}
    assert with_intent[0.5]["hit_rate"] > figures[0.5]["hit_rate"]
    assert [point["history"] for point in report["curve"]] == [0, 5, 20]
    assert 0 <= report["prefetch_calibration"]["ece"] <= 1


@pytest.mark.django_db(transaction=True)
def test_a_folder_without_queries_is_evaluated_on_its_sessions_alone(folder, capsys):
    call_command("evaluate", str(folder), "--sessions", str(folder / "sessions.jsonl"), "--json")

    report = json.loads(capsys.readouterr().out)
    assert [found["budget"] for found in report["prefetch"]] == [0.25, 0.5, 0.75]


def test_without_history_the_names_alone_serve_something(folder):
    data = load_sessions(folder, sessions=folder / "sessions.jsonl")

    report = prefetch.evaluate_prefetch(data, on_progress=ignore_progress)

    assert report["prefetch"][2]["hit_rate"] > 0
    assert report["history"] == 0


def make_call(key: str, result: str = "r", *, is_read_only: bool = True, predicted=()):
    made = tuple(
        (name, PredictedCall(tool=1, arguments={}, chance=0.9, next_chance=0.9, saves_ms=1,
                             reason="", sources={}))
        for name in predicted
    )  # fmt: skip
    return prefetch.ReplayedCall(
        key=key, is_read=is_read_only, is_read_only=is_read_only, result=result, predictions=made
    )


def test_a_write_drops_what_was_dispatched_before_it():
    session = [
        make_call("a", predicted=["b"]),
        make_call("w", is_read_only=False),
        make_call("b"),
        make_call(""),
    ]

    found = prefetch.run_prefetch([session], WasteBudget(0.5))

    assert (found.hit_rate, found.waste) == (0, 1)


def test_a_served_result_that_differs_from_the_recorded_one_is_stale():
    session = [make_call("a", "old"), make_call("a", "new", predicted=["a"]), make_call("")]

    found = prefetch.run_prefetch([session], WasteBudget(0.5))

    assert found.stale == 1
    assert found.hit_rate == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"turns": None}, "line 1: turns must be a list"),
        ({"turns": ["x"]}, "line 1: a turn must be an object"),
        ({"turns": [{"user": 7, "calls": []}]}, "line 1: user must be a text"),
        ({"turns": [{"calls": {}}]}, "line 1: calls must be a list"),
        ({"turns": [{"calls": ["x"]}]}, "line 1: a call must be an object"),
        ({"turns": [{"calls": [{"tool": "no"}]}]}, "line 1: no tool has the id 'no'"),
        (
            {"turns": [{"calls": [{"tool": "s:cancel", "arguments": []}]}]},
            "line 1: arguments must be an object",
        ),
        ({"id": None}, "line 1: id must be a text"),
    ],
)
def test_a_malformed_session_is_refused_with_its_line(folder, change, message):
    write_lines(folder / "sessions.jsonl", [make_session(1) | change])

    with pytest.raises(DatasetError, match=message):
        load_sessions(folder, sessions=folder / "sessions.jsonl")


def test_tools_without_access_are_refused(folder):
    write_lines(folder / "tools.jsonl", [TOOLS[0] | {"access": None}])

    with pytest.raises(DatasetError, match="line 1: access must be one of read, write, none"):
        load_sessions(folder, sessions=folder / "sessions.jsonl")


def test_missing_folders_and_empty_files_are_refused(folder):
    with pytest.raises(DatasetError, match="is not a folder"):
        load_sessions(folder / "none", sessions=folder / "sessions.jsonl")
    (folder / "sessions.jsonl").write_text("")
    with pytest.raises(DatasetError, match="holds no session"):
        load_sessions(folder, sessions=folder / "sessions.jsonl")
