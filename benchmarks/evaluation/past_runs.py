"""Convert queries with their gold to the finished runs a gateway would have recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from benchmarks.evaluation.dataset import DatasetQuery
from benchmarks.evaluation.gold_calls import (
    GoldCall,
    GoldToolNames,
    gold_calls_of,
    is_reference,
)
from graph.patterns import PastRun, RunTask

FIRST_RUN_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""End of the first run; the others follow at intervals of a minute, in file order."""


def iterate_past_runs(
    queries: Sequence[DatasetQuery], *, names: GoldToolNames, keys: Mapping[str, int]
) -> Iterator[PastRun]:
    """Yield a successful run for each query that has gold tools.

    If the gold has calls, they are the tasks, with arguments and references; otherwise each gold
    tool is a task, in order.

    Args:
        queries: Oldest first.
        names: Names of the data set's tools.
        keys: Primary key of each stored tool, by the data set's id.
    """
    for number, query in enumerate(queries):
        tasks = tuple(_iterate_run_tasks(query, names, keys))
        if tasks:
            yield PastRun(
                key=f"{number}:{query.id}"[:200],
                intent=query.text,
                tasks=tasks,
                at=FIRST_RUN_AT + timedelta(minutes=number),
            )


def _iterate_run_tasks(
    query: DatasetQuery, names: GoldToolNames, keys: Mapping[str, int]
) -> Iterator[RunTask]:
    calls = gold_calls_of(query, names)
    call_ids = {call.id for call in calls}
    for call in calls:
        yield RunTask(
            id=call.id, tool=keys[call.tool], arguments=_resolvable_arguments(call, call_ids)
        )
    if not calls:
        stored_tools = [tool for tool in query.tools if tool in keys]
        for place, tool in enumerate(stored_tools):
            yield RunTask(id=f"t{place}", tool=keys[tool])


def _resolvable_arguments(call: GoldCall, call_ids: set[str]) -> dict[str, Any]:
    """Return the arguments of a call, except references to itself or to missing calls."""
    return {
        name: value
        for name, value in call.arguments.items()
        if not is_reference(value) or value["$ref"] in call_ids - {call.id}
    }
