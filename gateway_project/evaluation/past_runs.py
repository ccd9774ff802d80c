"""Queries with their gold, as the finished runs that a gateway would have recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway_project.evaluation.dataset import DatasetQuery
from gateway_project.evaluation.gold_calls import Call, Names, calls, is_reference
from graph.patterns import PastRun, RunTask

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When the first run ended; the others follow by the minute, as they stand in the file."""


def past_runs(
    queries: Sequence[DatasetQuery], *, names: Names, keys: Mapping[str, int]
) -> Iterator[PastRun]:
    """Yield a successful run for each query that has gold tools.

    Where the gold tells of calls they are the tasks, with arguments and references; else each gold
    tool is a task, in the order given.

    Args:
        queries: Oldest first.
        names: Of the data set's tools.
        keys: Primary key of each stored tool, by the data set's id.
    """
    for number, query in enumerate(queries):
        tasks = tuple(_tasks(query, names, keys))
        if tasks:
            yield PastRun(
                key=f"{number}:{query.id}"[:200],
                intent=query.text,
                tasks=tasks,
                at=BEGIN + timedelta(minutes=number),
            )


def _tasks(query: DatasetQuery, names: Names, keys: Mapping[str, int]) -> Iterator[RunTask]:
    called = calls(query, names)
    there = {call.id for call in called}
    for call in called:
        yield RunTask(id=call.id, tool=keys[call.tool], arguments=_known(call, there))
    if not called:
        known = [tool for tool in query.tools if tool in keys]
        for place, tool in enumerate(known):
            yield RunTask(id=f"t{place}", tool=keys[tool])


def _known(call: Call, there: set[str]) -> dict[str, Any]:
    """Return the arguments of a call but for references to what is not there or is itself."""
    return {
        name: value
        for name, value in call.arguments.items()
        if not is_reference(value) or value["$ref"] in there - {call.id}
    }
