"""Load sessions of real calls, and the tools that they call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluation.dataset import (
    TOOLS_FILE,
    DatasetError,
    DatasetTool,
    iterate_rows,
    load_tools,
    read_text,
)

ACCESSES = ("read", "write", "none")


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """A call of a recorded session, with its result."""

    tool: str
    arguments: Mapping[str, Any]
    result: Any
    is_error: bool


@dataclass(frozen=True, kw_only=True)
class RecordedTurn:
    """The words of the user, and the calls that followed them."""

    text: str
    calls: tuple[RecordedCall, ...]


@dataclass(frozen=True, kw_only=True)
class RecordedSession:
    """A recorded session.

    Attributes:
        id: Its id.
        group: Sessions of one task share a group.
        turns: What was said and called, in order.
    """

    id: str
    group: str
    turns: tuple[RecordedTurn, ...]


@dataclass(frozen=True, kw_only=True)
class SessionDataset:
    """Tools with their access, sessions to evaluate, and sessions of the past."""

    name: str
    tools: tuple[DatasetTool, ...]
    access: Mapping[str, str]
    sessions: tuple[RecordedSession, ...]
    history: tuple[RecordedSession, ...]


def load_sessions(
    folder: Path, *, sessions: Path, history: Path | None = None, limit: int | None = None
) -> SessionDataset:
    """Load and validate recorded sessions.

    Args:
        folder: Contains `tools.jsonl`, each tool with its `access`: `read`, `write` or `none`
            (only computes).
        sessions: File of the sessions to evaluate.
        history: File of past sessions; may be empty.
        limit: Number of sessions to use, from the beginning.

    Raises:
        DatasetError: If a file is missing or a line is malformed.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder: name one that contains {TOOLS_FILE}")
    tools = load_tools(folder / TOOLS_FILE)
    access = _read_access(folder / TOOLS_FILE)
    loaded = read_sessions(sessions, access)
    if not loaded:
        raise DatasetError(f"{sessions} holds no session")
    return SessionDataset(
        name=folder.resolve().name,
        tools=tools,
        access=access,
        sessions=loaded[:limit],
        history=read_sessions(history, access) if history else (),
    )


def _read_access(path: Path) -> dict[str, str]:
    access = {}
    for location, row in iterate_rows(path):
        declared = row.get("access")
        if declared not in ACCESSES:
            raise DatasetError(
                f"{location}: access must be one of {', '.join(ACCESSES)}: prefetch is judged "
                "on what only reads"
            )
        access[read_text(row, "id", location, required=True)] = declared
    return access


def read_sessions(path: Path, known_ids: Mapping[str, Any]) -> tuple[RecordedSession, ...]:
    """Read a file of sessions.

    Raises:
        DatasetError: If the file is missing, a line is malformed, or a tool is unknown.
    """
    sessions = []
    for location, row in iterate_rows(path):
        identity = read_text(row, "id", location, required=True)
        turns = _require_list(row.get("turns"), f"{location}: turns")
        sessions.append(
            RecordedSession(
                id=identity,
                group=str(row.get("group") or identity),
                turns=tuple(_parse_turn(turn, location, known_ids) for turn in turns),
            )
        )
    return tuple(sessions)


def _parse_turn(turn: Any, location: str, known_ids: Mapping[str, Any]) -> RecordedTurn:
    if not isinstance(turn, Mapping):
        raise DatasetError(f"{location}: a turn must be an object")
    text = turn.get("user") or ""
    if not isinstance(text, str):
        raise DatasetError(f"{location}: user must be a text")
    calls = _require_list(turn.get("calls"), f"{location}: calls")
    return RecordedTurn(
        text=text, calls=tuple(_parse_call(call, location, known_ids) for call in calls)
    )


def _parse_call(call: Any, location: str, known_ids: Mapping[str, Any]) -> RecordedCall:
    if not isinstance(call, Mapping):
        raise DatasetError(f"{location}: a call must be an object")
    tool, arguments = call.get("tool"), call.get("arguments", {})
    if tool not in known_ids:
        raise DatasetError(f"{location}: no tool has the id {tool!r}")
    if not isinstance(arguments, Mapping):
        raise DatasetError(f"{location}: arguments must be an object")
    return RecordedCall(
        tool=str(tool),
        arguments=arguments,
        result=call.get("result"),
        is_error=call.get("is_error") is True,
    )


def _require_list(value: Any, location: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise DatasetError(f"{location} must be a list")
    return value
