"""Parse the lines of a file of past runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation.references import LITERAL, is_reference_mark, make_reference
from graph.exchange.document import quote_value
from graph.exchange.json_lines import build_unique_object, describe_json_error
from graph.patterns import MAX_TASKS, InvalidRun, PastRun, RunTask, UnknownRunTool

MAX_LINE_BYTES: Final = 1_000_000
TOO_DEEP_MESSAGE: Final = f"it is nested deeper than {canonical.MAX_DEPTH} levels"
CLOCK_SKEW: Final = timedelta(days=1)
EDGE_LENGTH: Final = 2

_LABEL_REFERENCE: Final = re.compile(r"\$(\w+)(?:\.([^$]*))?\$")


def parse_run(line: bytes, *, tools: Mapping[str, int], now: datetime) -> tuple[PastRun, bool]:
    """Parse a run from a line.

    Args:
        line: `{"id", "intent", "tasks": [{"id", "tool", "arguments", "depends_on"}],
            "succeeded", "at"}`, where `succeeded`, `at`, `arguments` and `depends_on` are
            optional; or the form of public data sets,
            `{"id", "text", "gold_tools", "gold_edges", "gold_args"}`.
        tools: Primary keys by id.
        now: Time of runs without `at`.

    Returns:
        The run, and whether arguments were left out because their form is unknown.

    Raises:
        InvalidRun: If the line is not a run; the message says why.
    """
    row = _parse_object(line)
    key = row.get("id")
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not key:
        raise InvalidRun('it has no "id", by which a run is counted once')
    is_gold = "gold_tools" in row and "tasks" not in row
    intent = row.get("text" if is_gold and "intent" not in row else "intent")
    if not isinstance(intent, str):
        raise InvalidRun('it has no "intent", a text of what was asked for')
    tasks, is_partial = (
        _read_data_set_row(row, tools) if is_gold else (_read_tasks(row, tools), False)
    )
    return (
        PastRun(
            key=key,
            intent=intent,
            tasks=tasks,
            succeeded=_read_succeeded(row),
            at=_read_time(row.get("at"), now),
        ),
        is_partial,
    )


def _parse_object(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidRun(f"it is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        row = json.loads(
            line.decode("utf-8"),
            object_pairs_hook=build_unique_object,
            parse_constant=_reject_constant,
        )
    except UnicodeDecodeError:
        raise InvalidRun("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidRun(
            f"not JSON: {describe_json_error(error)} at character {error.pos + 1}"
        ) from None
    except RecursionError:
        raise InvalidRun(TOO_DEEP_MESSAGE) from None
    except ValueError as error:
        raise InvalidRun(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise InvalidRun('not a JSON object; expected one like {"id": …, "intent": …, "tasks": …}')
    if canonical.is_deeper_than(row):
        raise InvalidRun(TOO_DEEP_MESSAGE)
    return row


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


def _read_succeeded(row: Mapping[str, Any]) -> bool:
    value = row.get("succeeded", True)
    if not isinstance(value, bool):
        raise InvalidRun('"succeeded" must be true or false')
    return value


def _read_time(value: Any, now: datetime) -> datetime:
    if value is None:
        return now
    try:
        at = datetime.fromisoformat(value)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        is_past = at <= now + CLOCK_SKEW
    except (TypeError, ValueError, OverflowError):
        raise InvalidRun('"at" must be a time as 2026-11-22T08:00:00Z') from None
    if not is_past:
        raise InvalidRun(f'"at" is in the future: {quote_value(str(value))}')
    return min(at, now)


def _read_tasks(row: Mapping[str, Any], tools: Mapping[str, int]) -> tuple[RunTask, ...]:
    tasks = row.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        raise InvalidRun('it has no "tasks", a list of what was called')
    _check_task_count(tasks)
    return tuple(_read_task(task, number, tools) for number, task in enumerate(tasks, start=1))


def _check_task_count(tasks: Sequence[Any]) -> None:
    if len(tasks) > MAX_TASKS:
        raise InvalidRun(f"it has {len(tasks):,} tasks; at most {MAX_TASKS} are recorded")


def _read_task(task: Any, number: int, tools: Mapping[str, int]) -> RunTask:
    if not isinstance(task, dict):
        raise InvalidRun(f"its task {number} is not an object")
    task_id, arguments = task.get("id"), task.get("arguments")
    depends_on = task.get("depends_on")
    if not isinstance(task_id, str) or not task_id:
        raise InvalidRun(f'its task {number} has no "id"')
    if not (arguments is None or isinstance(arguments, dict)):
        raise InvalidRun(f'"arguments" of its task {quote_value(task_id)} is not an object')
    if not (depends_on is None or _is_text_list(depends_on)):
        raise InvalidRun(f'"depends_on" of its task {quote_value(task_id)} is not a list of ids')
    return RunTask(
        id=task_id,
        tool=_find_tool(task.get("tool"), tools),
        arguments=arguments or {},
        depends_on=tuple(depends_on or ()),
    )


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _find_tool(name: Any, tools: Mapping[str, int]) -> int:
    if not isinstance(name, str) or not name:
        raise InvalidRun('a task has no "tool"')
    if name not in tools:
        raise UnknownRunTool(name)
    return tools[name]


def _read_data_set_row(
    row: Mapping[str, Any], tools: Mapping[str, int]
) -> tuple[tuple[RunTask, ...], bool]:
    """Parse the form of public data sets; its calls are used if their form is known."""
    tool_names = row["gold_tools"]
    if not isinstance(tool_names, list) or not tool_names:
        raise InvalidRun('its "gold_tools" is not a list of tools')
    calls = list(_iterate_calls(row.get("gold_args")))
    is_partial = not calls and bool(row.get("gold_args"))
    called = [(call["tool"], call["args"]) for call in calls] or [
        (name, {}) for name in tool_names
    ]
    _check_task_count(called)
    edges = _read_edges(row.get("gold_edges"))
    names = [name for name, _ in called]
    labels: dict[str | None, str] = {}
    tasks = []
    for number, (name, arguments) in enumerate(called, start=1):
        task_id = f"t{number}"
        tasks.append(
            RunTask(
                id=task_id,
                tool=_find_tool(name, tools),
                arguments={
                    key: _convert_label_references(value, labels)
                    for key, value in arguments.items()
                },
                depends_on=tuple(_iterate_predecessors(number - 1, names, edges)),
            )
        )
        if calls:
            labels[calls[number - 1].get("label")] = task_id
    return tuple(tasks), is_partial


def _iterate_calls(calls: Any) -> Iterator[dict[str, Any]]:
    """Yield the calls if all are of the form `{"tool", "args", "label"}`."""
    is_known = isinstance(calls, list) and all(
        isinstance(call, dict)
        and isinstance(call.get("tool"), str)
        and isinstance(call.get("args"), dict)
        and isinstance(call.get("label"), str | None)
        for call in calls
    )
    if is_known:
        yield from calls


def _read_edges(edges: Any) -> list[tuple[str, str]]:
    if edges is None:
        return []
    is_pairs = isinstance(edges, list) and all(
        _is_text_list(edge) and len(edge) == EDGE_LENGTH for edge in edges
    )
    if not is_pairs:
        raise InvalidRun('its "gold_edges" is not a list of pairs of tools')
    return list(dict.fromkeys((source, target) for source, target in edges))


def _iterate_predecessors(
    index: int, names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Yield the dependencies of a task: for each edge to its tool, the last earlier task.

    If the edge's source has no earlier task, its only task counts, wherever it is.
    """
    for source, target in edges:
        if names[index] != target:
            continue
        positions = [
            position for position, name in enumerate(names) if name == source and position != index
        ]
        earlier = [position for position in positions if position < index]
        if earlier:
            yield f"t{earlier[-1] + 1}"
        elif len(positions) == 1 and source != target and (target, source) not in edges:
            yield f"t{positions[0] + 1}"


def _convert_label_references(value: Any, labels: Mapping[str | None, str]) -> Any:
    """Replace references to labels by references to tasks; unknown labels stay text."""
    if isinstance(value, dict):
        converted = {key: _convert_label_references(item, labels) for key, item in value.items()}
        return {LITERAL: converted} if is_reference_mark(converted) else converted
    if isinstance(value, list):
        return [_convert_label_references(item, labels) for item in value]
    match = _LABEL_REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1] not in labels:
        return value
    steps = re.findall(r"[^.\[\]]+", match[2] or "")
    return make_reference(labels[match[1]], canonical.build_pointer(steps))
