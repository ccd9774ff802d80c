"""The server of the prefetch benchmark answers as recorded."""

from __future__ import annotations

import json

import pytest

from benchmarks.replay_server import RecordedServer


def call(name, result, **arguments):
    return {
        "tool": f"desk:{name}",
        "arguments": arguments,
        "result": result,
        "is_error": False,
    }


@pytest.fixture
def server(tmp_path):
    schema = {"type": "dict", "properties": {"id": {"type": "float"}, "type": {"type": "any"}}}
    tools = [
        {
            "id": f"desk:{name}",
            "server": "desk",
            "name": name,
            "description": "",
            "access": access,
            "input_schema": schema,
        }
        for name, access in (("read", "read"), ("write", "write"))
    ]
    calls = [
        call("read", {"state": "old"}, id=1),
        call("write", "done", id=1),
        call("read", {"state": "new"}, id=1),
        call("read", None, id=2),
    ]
    sessions = [
        {"id": "one", "turns": [{"calls": calls}]},
        {"id": "two", "turns": [{"calls": [call("read", {"state": "other"}, id=1)]}]},
    ]
    for name, rows in (("tools.jsonl", tools), ("sessions.jsonl", sessions)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "control").write_text("one")
    return RecordedServer(tmp_path, "desk", tmp_path / "control")


def read(server, **arguments):
    return server.answer("read", arguments).get("structuredContent")


def test_reads_are_answered_as_between_the_same_writes_however_often(server):
    assert [read(server, id=1), read(server, id=1)] == [{"state": "old"}] * 2
    assert server.answer("write", {"id": 1})["content"] == [{"type": "text", "text": "done"}]
    assert [read(server, id=1), read(server, id=1)] == [{"state": "new"}] * 2


def test_a_read_of_later_can_be_made_ahead(server):
    assert server.answer("read", {"id": 2}) == {"content": [], "isError": False}
    assert read(server, id=1) == {"state": "old"}


def test_what_was_never_called_is_answered_without_content(server):
    assert server.answer("read", {"id": 9}) == {"content": []}


def test_another_session_begins_anew(server, tmp_path):
    server.answer("write", {"id": 1})
    (tmp_path / "control").write_text("two")
    assert read(server, id=1) == {"state": "other"}


def test_tools_are_declared_in_json_schema_with_what_they_do(server):
    declared = {tool["name"]: tool for tool in server.tools}
    assert declared["read"]["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert declared["write"]["annotations"]["readOnlyHint"] is False
    assert declared["read"]["inputSchema"] == {
        "type": "object",
        "properties": {"id": {"type": "number"}, "type": {}},
    }
