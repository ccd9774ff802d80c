from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import next_call
from benchmarks.evaluation.session_files import SessionDataset, load_sessions

TOOLS = [
    {"id": "s:get_user", "server": "s", "name": "get_user", "access": "read",
     "input_schema": {"type": "object", "properties": {"user_id": {"type": "string"}},
                      "required": ["user_id"]}},
    {"id": "s:get_order", "server": "s", "name": "get_order", "access": "read",
     "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}},
                      "required": ["order_id"]}},
]  # fmt: skip


def make_session(number: int) -> dict[str, Any]:
    orders = [f"O-{number}-{n}" for n in range(4)]
    wanted = orders if number % 3 == 0 else orders[:1]
    calls = [("s:get_user", {"user_id": f"U-{number}"}, {"orders": orders})]
    calls += [("s:get_order", {"order_id": order}, {"total": 7}) for order in wanted]
    return {
        "id": str(number),
        "group": str(number),
        "turns": [
            {
                "user": "Hello",
                "calls": [
                    {"tool": tool, "arguments": arguments, "result": result, "is_error": False}
                    for tool, arguments, result in calls
                ],
            }
        ],
    }


def load(folder: Path, *, sessions: int) -> SessionDataset:
    for name, rows in (
        ("tools.jsonl", TOOLS),
        ("sessions.jsonl", [make_session(number) for number in range(sessions)]),
    ):
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return load_sessions(folder, sessions=folder / "sessions.jsonl")


def test_with_history_no_group_is_on_both_sides(tmp_path):
    sessions = load(tmp_path, sessions=40).sessions

    folds = next_call.list_folds(sessions, 5)

    assert len(folds) == next_call.FOLDS
    assert sorted(int(one.id) for tested, _ in folds for one in tested) == list(range(40))
    for tested, history in folds:
        assert len(history) == 5
        assert not {one.group for one in tested} & {one.group for one in history}
