"""LangGraph on the same shapes: `python -m benchmarks.execution.langgraph_way RESULT`.

Runs in an environment of its own, which has no more than that library. The graph is compiled
beforehand; a node awaits once and adds one to a counter; nothing is checkpointed.
"""

from __future__ import annotations

import asyncio
import json
import operator
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from benchmarks.execution.shapes import REPEATS, TASKS, shapes

START, END = "__start__", "__end__"


class State(TypedDict):
    """How many nodes have run."""

    ran: Annotated[int, operator.add]


async def node(_state: State) -> dict[str, int]:
    """Await once, as a call would."""
    await asyncio.sleep(0)
    return {"ran": 1}


def compiled(waits: Sequence[Sequence[int]]) -> Any:
    """Return a graph in which each node waits for all that its task waits for."""
    from langgraph.graph import StateGraph

    graph = StateGraph(State)
    for place in range(len(waits)):
        graph.add_node(f"t{place}", node)
    for place, needed in enumerate(waits):
        names = [f"t{other}" for other in needed]
        graph.add_edge(names if len(names) > 1 else (names or [START])[0], f"t{place}")
    return graph.compile()


def measured(waits: Sequence[Sequence[int]]) -> float:
    """Return the seconds of processor time of the best of several runs."""
    graph = compiled(waits)
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        ended = asyncio.run(graph.ainvoke({"ran": 0}, {"recursion_limit": 2 * TASKS}))
        times.append(time.process_time() - started)
        assert ended["ran"] == len(waits)
    return min(times)


if __name__ == "__main__":
    found = {name: measured(waits) for name, waits in shapes().items()}
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
