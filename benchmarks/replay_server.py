"""A server that answers as recorded sessions were answered, after a given time; calls overlap.

    python -m benchmarks.replay_server FOLDER SERVER CONTROL SECONDS

FOLDER holds `tools.jsonl` and `sessions.jsonl`; the file CONTROL names the session that is played.
A read is answered with what it returned next in the session; a call that does not come any more
is answered too, without content. It uses only the standard library, so that it starts quickly.
Revision 2026-07-28.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import plain_server

_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
"""JSON Schema has other names for these types."""


class RecordedServer:
    """One server of the recorded sessions.

    Args:
        folder: Holds the data set.
        server: Name of the server.
        control: File that names the session that is played.
    """

    def __init__(self, folder: Path, server: str, control: Path) -> None:
        self._control = control
        rows = [row for row in _read_rows(folder / "tools.jsonl") if row["server"] == server]
        self._writes = {row["name"] for row in rows if row["access"] == "write"}
        self.tools = [_describe_tool(row) for row in rows]
        self._sessions = {
            row["id"]: [
                (call["tool"].partition(":")[2], call)
                for turn in row["turns"]
                for call in turn["calls"]
                if call["tool"].partition(":")[0] == server
            ]
            for row in _read_rows(folder / "sessions.jsonl")
        }
        self._played = ""
        self._position = 0

    def answer(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the recorded result of a call."""
        played = self._control.read_text()
        if played != self._played:
            self._played, self._position = played, 0
        calls = self._sessions[played]
        found = next(
            (
                index
                for index in range(self._position, len(calls))
                if (calls[index][0], calls[index][1]["arguments"]) == (name, arguments)
            ),
            None,
        )
        if found is None:
            return {"content": []}
        if name in self._writes:
            self._position = found + 1
        return _build_result(calls[found][1])


def _read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _describe_tool(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "description": row["description"],
        "inputSchema": _convert_schema(row["input_schema"]) | {"type": "object"},
        "annotations": {"readOnlyHint": row["access"] != "write", "openWorldHint": False},
    }


def _convert_schema(schema: Any) -> Any:
    """Return a schema with the names of types that JSON Schema has."""
    if isinstance(schema, list):
        return [_convert_schema(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    converted = {key: _convert_schema(value) for key, value in schema.items()}
    declared = converted.get("type")
    if isinstance(declared, str) and declared in _JSON_TYPES:
        converted["type"] = _JSON_TYPES[declared]
    return {key: value for key, value in converted.items() if (key, value) != ("type", None)}


def _build_result(call: Mapping[str, Any]) -> dict[str, Any]:
    recorded = call["result"]
    text = recorded if isinstance(recorded, str) else json.dumps(recorded)
    result: dict[str, Any] = {
        "content": [] if recorded is None else [{"type": "text", "text": text}],
        "isError": call["is_error"],
    }
    if isinstance(recorded, Mapping):
        result["structuredContent"] = recorded
    return result


def main() -> None:
    """Answer requests until stdin ends."""
    folder, name, control, delay_s = sys.argv[1:]
    server = RecordedServer(Path(folder), name, Path(control))
    plain_server.serve(server.tools, server.answer, delay_s=float(delay_s))


if __name__ == "__main__":
    main()
