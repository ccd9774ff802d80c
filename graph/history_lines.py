"""Read the lines of a file of past runs: runs, and what is wrong with those that are none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway_project.foundation import canonical
from graph.exchange.document import shown
from graph.exchange.json_lines import unique, what
from graph.patterns import MAX_TASKS, InvalidRun, PastRun, RunTask, UnknownTool
from graph.references import LITERAL, is_mark, reference

MAX_LINE_BYTES: Final = 1_000_000
TOO_DEEP: Final = f"it is nested deeper than {canonical.MAX_DEPTH} levels"
CLOCK_SKEW: Final = timedelta(days=1)
PAIR: Final = 2

_BY_LABEL: Final = re.compile(r"\$(\w+)(?:\.([^$]*))?\$")


def run_of(line: bytes, *, tools: Mapping[str, int], now: datetime) -> tuple[PastRun, bool]:
    """Read a run from a line.

    Args:
        line: `{"id", "intent", "tasks": [{"id", "tool", "arguments", "depends_on"}],
            "succeeded", "at"}`, of which the last two may be missing, as may a task's arguments
            and what it depends on; or, as public data sets have it,
            `{"id", "text", "gold_tools", "gold_edges", "gold_args"}`.
        tools: Primary keys by id.
        now: Time of a run that does not say when it was.

    Returns:
        The run, and whether arguments were left out since their form is not known.

    Raises:
        InvalidRun: If it is none; the message says why.
    """
    row = _object(line)
    key = row.get("id")
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not key:
        raise InvalidRun('it has no "id", by which a run is counted once')
    is_gold = "gold_tools" in row and "tasks" not in row
    intent = row.get("text" if is_gold and "intent" not in row else "intent")
    if not isinstance(intent, str):
        raise InvalidRun('it has no "intent", a text of what was asked for')
    tasks, is_partial = _gold(row, tools) if is_gold else (_tasks(row, tools), False)
    return (
        PastRun(
            key=key,
            intent=intent,
            tasks=tasks,
            succeeded=_succeeded(row),
            at=_at(row.get("at"), now),
        ),
        is_partial,
    )


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidRun(f"it is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        row = json.loads(line.decode("utf-8"), object_pairs_hook=unique, parse_constant=_refuse)
    except UnicodeDecodeError:
        raise InvalidRun("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidRun(f"no JSON: {what(error)} at character {error.pos + 1}") from None
    except RecursionError:
        raise InvalidRun(TOO_DEEP) from None
    except ValueError as error:
        raise InvalidRun(f"no JSON: {error}") from None
    if not isinstance(row, dict):
        raise InvalidRun('no JSON object; expected one as in {"id": …, "intent": …, "tasks": …}')
    if canonical.is_deeper(row):
        raise InvalidRun(TOO_DEEP)
    return row


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _succeeded(row: Mapping[str, Any]) -> bool:
    said = row.get("succeeded", True)
    if not isinstance(said, bool):
        raise InvalidRun('"succeeded" must be true or false')
    return said


def _at(said: Any, now: datetime) -> datetime:
    if said is None:
        return now
    try:
        at = datetime.fromisoformat(said)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        is_past = at <= now + CLOCK_SKEW
    except (TypeError, ValueError, OverflowError):
        raise InvalidRun('"at" must be a time as 2026-11-22T08:00:00Z') from None
    if not is_past:
        raise InvalidRun(f'"at" lies in the future: {shown(str(said))}')
    return min(at, now)


def _tasks(row: Mapping[str, Any], tools: Mapping[str, int]) -> tuple[RunTask, ...]:
    given = row.get("tasks")
    if not isinstance(given, list) or not given:
        raise InvalidRun('it has no "tasks", a list of what was called')
    _check_count(given)
    return tuple(_task(one, place, tools) for place, one in enumerate(given, start=1))


def _check_count(given: Sequence[Any]) -> None:
    if len(given) > MAX_TASKS:
        raise InvalidRun(f"it has {len(given):,} tasks; at most {MAX_TASKS} are recorded")


def _task(given: Any, place: int, tools: Mapping[str, int]) -> RunTask:
    if not isinstance(given, dict):
        raise InvalidRun(f"its task {place} is no object")
    task_id, arguments = given.get("id"), given.get("arguments")
    waits = given.get("depends_on")
    if not isinstance(task_id, str) or not task_id:
        raise InvalidRun(f'its task {place} has no "id"')
    if not (arguments is None or isinstance(arguments, dict)):
        raise InvalidRun(f'"arguments" of its task {shown(task_id)} is no object')
    if not (waits is None or _is_texts(waits)):
        raise InvalidRun(f'"depends_on" of its task {shown(task_id)} is no list of ids')
    return RunTask(
        id=task_id,
        tool=_tool(given.get("tool"), tools),
        arguments=arguments or {},
        depends_on=tuple(waits or ()),
    )


def _is_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(one, str) for one in given)


def _tool(named: Any, tools: Mapping[str, int]) -> int:
    if not isinstance(named, str) or not named:
        raise InvalidRun('a task has no "tool"')
    if named not in tools:
        raise UnknownTool(named)
    return tools[named]


def _gold(row: Mapping[str, Any], tools: Mapping[str, int]) -> tuple[tuple[RunTask, ...], bool]:
    """Read the form of public data sets; its calls, where it has them in a form that is known."""
    named = row["gold_tools"]
    if not isinstance(named, list) or not named:
        raise InvalidRun('its "gold_tools" is no list of tools')
    calls = list(_calls(row.get("gold_args")))
    is_partial = not calls and bool(row.get("gold_args"))
    called = [(call["tool"], call["args"]) for call in calls] or [(name, {}) for name in named]
    _check_count(called)
    edges = _edges(row.get("gold_edges"))
    names = [name for name, _ in called]
    labels: dict[str | None, str] = {}
    tasks = []
    for place, (name, arguments) in enumerate(called, start=1):
        task_id = f"t{place}"
        tasks.append(
            RunTask(
                id=task_id,
                tool=_tool(name, tools),
                arguments={key: _linked(value, labels) for key, value in arguments.items()},
                depends_on=tuple(_before(place - 1, names, edges)),
            )
        )
        if calls:
            labels[calls[place - 1].get("label")] = task_id
    return tuple(tasks), is_partial


def _calls(given: Any) -> Iterator[dict[str, Any]]:
    """Yield calls of the form `{"tool", "args", "label"}`, if all are."""
    is_known = isinstance(given, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("tool"), str)
        and isinstance(one.get("args"), dict)
        and isinstance(one.get("label"), str | None)
        for one in given
    )
    if is_known:
        yield from given


def _edges(given: Any) -> list[tuple[str, str]]:
    if given is None:
        return []
    is_pairs = isinstance(given, list) and all(
        _is_texts(one) and len(one) == PAIR for one in given
    )
    if not is_pairs:
        raise InvalidRun('its "gold_edges" is no list of pairs of tools')
    return list(dict.fromkeys((first, then) for first, then in given))


def _before(place: int, names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the tasks that one waits for: edges name tools, of which the last one before counts.

    Where a tool stands nowhere before, its only task counts wherever it stands.
    """
    for first, then in edges:
        if names[place] != then:
            continue
        at = [one for one, name in enumerate(names) if name == first and one != place]
        earlier = [one for one in at if one < place]
        if earlier:
            yield f"t{earlier[-1] + 1}"
        elif len(at) == 1 and first != then and (then, first) not in edges:
            yield f"t{at[0] + 1}"


def _linked(value: Any, labels: Mapping[str | None, str]) -> Any:
    """Write references to labels as references to tasks; what refers to none before stays text."""
    if isinstance(value, dict):
        linked = {key: _linked(one, labels) for key, one in value.items()}
        return {LITERAL: linked} if is_mark(linked) else linked
    if isinstance(value, list):
        return [_linked(one, labels) for one in value]
    found = _BY_LABEL.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[1] not in labels:
        return value
    steps = re.findall(r"[^.\[\]]+", found[2] or "")
    return reference(labels[found[1]], canonical.pointer(steps))
