"""LangGraph on the same shapes: `python -m benchmarks.execution.langgraph_way RESULT`.

Runs in a separate environment with only that library. The graph is compiled beforehand; a node
awaits once and increments a counter; nothing is checkpointed.
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
    """The number of nodes that have run."""

    ran: Annotated[int, operator.add]


async def node(_state: State) -> dict[str, int]:
    """Await once, like a call."""
    await asyncio.sleep(0)
    return {"ran": 1}


def compile_graph(waits: Sequence[Sequence[int]]) -> Any:
    """Compile a graph in which each node waits for the dependencies of its task."""
    from langgraph.graph import StateGraph

    graph = StateGraph(State)
    for place in range(len(waits)):
        graph.add_node(f"t{place}", node)
    for place, needed in enumerate(waits):
        names = [f"t{other}" for other in needed]
        graph.add_edge(names if len(names) > 1 else (names or [START])[0], f"t{place}")
    return graph.compile()


def measure_shape(waits: Sequence[Sequence[int]]) -> float:
    """Return the processor time of the best of several runs, in seconds."""
    graph = compile_graph(waits)
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        ended = asyncio.run(graph.ainvoke({"ran": 0}, {"recursion_limit": 2 * TASKS}))
        times.append(time.process_time() - started)
        assert ended["ran"] == len(waits)
    return min(times)


if __name__ == "__main__":
    found = {name: measure_shape(waits) for name, waits in shapes().items()}
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
