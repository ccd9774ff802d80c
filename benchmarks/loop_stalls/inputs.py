"""The hostile inputs of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.loop_stalls.hostile_server import BRANCHES, CHOICES, NAME
from gateway_project.mcp.meta_tools.find import MAX_QUERY_LENGTH
from gateway_project.mcp.meta_tools.suggest import MAX_INTENT_LENGTH

MB: Final = 1_000_000
TASKS, DEPENDENCIES = 1_000, 40
ITEMS: Final = 100_000
VALUES: Final = 240_000
WAIT_S: Final = 20.0


@dataclass(frozen=True, kw_only=True)
class Input:
    """A hostile request.

    Attributes:
        name: Name in the table.
        tool: Tool of the gateway that is called.
        arguments: Builds the arguments on demand, so that only one input is in memory.
    """

    name: str
    tool: str
    arguments: Callable[[], Mapping[str, Any]]


def _call(name: str, tool: str, make: Callable[[], Mapping[str, Any]]) -> Input:
    def arguments() -> Mapping[str, Any]:
        return {"tool": f"{NAME}:{tool}", "arguments": make()}

    return Input(name=name, tool="call_tool", arguments=arguments)


def _run(name: str, make: Callable[[], Iterator[Mapping[str, Any]]], **options: Any) -> Input:
    def arguments() -> Mapping[str, Any]:
        chosen = {"wait_s": WAIT_S, **options}
        return {"workflow": {"tasks": list(make())}, "options": chosen}

    return Input(name=name, tool="run_workflow", arguments=arguments)


def _items(make: Callable[[], list[Any]]) -> Callable[[], Mapping[str, Any]]:
    return lambda: {"items": make()}


def _objects(count: int) -> list[Any]:
    return [{"n": number, "text": "a"} for number in range(count)]


def _nested() -> list[Any]:
    return [[[[number]]] for number in range(MB)]


def _task(own: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"t{own}", "tool": f"{NAME}:take", "arguments": {}, **fields}


def _window() -> Iterator[Mapping[str, Any]]:
    for own in range(TASKS):
        before = range(max(0, own - DEPENDENCIES), own)
        yield _task(own, depends_on=[f"t{one}" for one in before])


def _layers() -> Iterator[Mapping[str, Any]]:
    for own in range(TASKS):
        first = own // DEPENDENCIES * DEPENDENCIES
        before = range(max(0, first - DEPENDENCIES), first)
        yield _task(own, depends_on=[f"t{one}" for one in before])


def _chain() -> Iterator[Mapping[str, Any]]:
    for own in range(TASKS):
        yield _task(own, depends_on=[f"t{own - 1}"] if own else [])


def _references() -> Iterator[Mapping[str, Any]]:
    for own in range(TASKS):
        rows = [{"$ref": "t0", "pointer": "/ok"}] * 9 if own else []
        yield _task(own, arguments={"rows": rows})


def _circle() -> Iterator[Mapping[str, Any]]:
    for own in range(TASKS):
        after = [(own + step) % TASKS for step in range(1, DEPENDENCIES + 1)]
        yield _task(own, depends_on=[f"t{one}" for one in after])


def _unknown() -> Iterator[Mapping[str, Any]]:
    for own in range(TASKS):
        yield _task(own, depends_on=[f"u{one}" for one in range(DEPENDENCIES)])


def _large_task() -> Iterator[Mapping[str, Any]]:
    yield _task(0, arguments={"items": list(range(VALUES))})


def _for_each(count: int) -> Callable[[], Iterator[Mapping[str, Any]]]:
    def tasks() -> Iterator[Mapping[str, Any]]:
        yield _task(0, tool=f"{NAME}:give", arguments={"rows": count})
        rows = {"$ref": "t0", "pointer": "/rows"}
        yield _task(1, for_each=rows, arguments={"row": {"$item": ""}})

    return tasks


def _intent(text: str) -> Input:
    whole = (text * (MAX_INTENT_LENGTH // len(text) + 1))[:MAX_INTENT_LENGTH]
    return Input(
        name=f"intent of {len(whole):,} characters: {text[:12].strip()}…",
        tool="run_intent",
        arguments=lambda: {"intent": whole},
    )


def _query(text: str) -> Input:
    whole = (text * (MAX_QUERY_LENGTH // len(text) + 1))[:MAX_QUERY_LENGTH]
    return Input(
        name=f"query of {len(whole):,} characters: {text[:12].strip()}…",
        tool="search_tools",
        arguments=lambda: {"query": whole},
    )


VALIDATION: Final = (
    _call("uniqueItems, 2,000 objects", "unique", _items(lambda: _objects(2_000))),
    _call("uniqueItems, 20,000 objects", "unique", _items(lambda: _objects(20_000))),
    _call(
        "anyOf of 500 over 1,000 items",
        "branches",
        _items(lambda: [{f"k{BRANCHES - 1}": BRANCHES - 1}] * 1_000),
    ),
    _call(
        f"enum of {CHOICES:,} over 5,000 items",
        "choices",
        _items(lambda: [[CHOICES - 1]] * 5_000),
    ),
)
PARSING: Final = (
    _call("15 MB of numbers", "take", _items(lambda: [7_777] * (15 * MB // 5))),
    _call("15 MB of texts", "take", _items(lambda: [f"text {n}" for n in range(MB)])),
    _call("15 MB of nested arrays", "take", _items(_nested)),
    _call("15 MB as the result", "give_much", dict),
)
RUNS: Final = (
    _run("for_each over 10,000 items", _for_each(10_000)),
    _run(f"for_each over {ITEMS:,} items", _for_each(ITEMS)),
    _run("1,000 tasks, 40 dependencies each, dry run", _window, dry_run=True),
    _run("1,000 tasks, 40 dependencies each, run", _window),
    _run("25 complete layers of 40 tasks, run", _layers),
    _run("chain of 1,000 tasks, run", _chain),
    _run("1,000 tasks that refer to one nine times", _references),
    _run(f"a task with {VALUES:,} values as arguments", _large_task),
    _run("1,000 tasks in circles", _circle),
    _run("40,000 dependencies on no task", _unknown),
)
TEXTS: Final = (
    _intent("read the file a.txt and send it; "),
    _intent("a" * 1_000),
    _intent("a.b@c/d:e_"),
    _intent('"'),
    _intent("1,2.3-4:"),
    _intent("{[("),
    _intent("日本語。"),
    _intent("/a\\b"),
    _query("find the file and send it. "),
    _query("a.b@c/d:e_"),
    _query("日本語。"),
    _call("seven tools of 900 kB of text listed", "relist", dict),
)
INPUTS: Final = (*VALIDATION, *PARSING, *RUNS, *TEXTS)
