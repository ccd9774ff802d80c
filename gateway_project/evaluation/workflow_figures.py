"""How right a suggested workflow is: its set of tools, and the order they stand in.

Both are judged as sets: a tool that a workflow uses twice counts once, and so does a pair of
tools. Edges are pairs of tools that stand next to each other; that is also the form in which
chains are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from gateway_project.evaluation.answer import Answer, Pair
from gateway_project.evaluation.dataset import DatasetQuery
from gateway_project.evaluation.metrics import gains


@dataclass(frozen=True, kw_only=True)
class WorkflowFigures:
    """Figures of one workflow, or their means over several, in [0, 1]; None: no gold for it.

    Attributes:
        node_f1: Of the set of tools.
        edge_f1: Of the pairs of neighbours in the order.
        exact_set: Whether the set of tools is right.
        exact_dag: Whether the set and the pairs are right.
    """

    node_f1: float | None
    edge_f1: float | None
    exact_set: float | None
    exact_dag: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the figures by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def judge(chain: Sequence[str], query: DatasetQuery) -> WorkflowFigures:
    """Judge the tools of a workflow, in order, by a query's gold.

    Args:
        chain: The data set's ids; a tool may recur.
        query: With at least one slot.
    """
    tools = list(dict.fromkeys(chain))
    right = sum(gains(tools, query.slots))
    exact = right == len(query.slots) == len(tools)
    node_f1 = 2 * right / (len(tools) + len(query.slots))
    if query.edges is None:
        return WorkflowFigures(
            node_f1=node_f1, edge_f1=None, exact_set=float(exact), exact_dag=None
        )
    suggested, gold = neighbours(chain), frozenset(query.edges)
    return WorkflowFigures(
        node_f1=node_f1,
        edge_f1=f1(suggested, gold),
        exact_set=float(exact),
        exact_dag=float(exact and suggested == gold),
    )


def judge_waits(answer: Answer, query: DatasetQuery) -> float | None:
    """F1 of what must wait for what, for gold that tells data flow and not order alone."""
    return None if query.edges is None else f1(answer.waits, frozenset(query.edges))


def neighbours(chain: Sequence[str]) -> frozenset[Pair]:
    """Return the pairs that stand next to each other.

    Example:
        >>> sorted(neighbours(["a", "b", "b"]))
        [('a', 'b'), ('b', 'b')]
    """
    return frozenset(pairwise(chain))


def f1(found: AbstractSet[Pair], gold: AbstractSet[Pair]) -> float:
    """Harmonic mean of precision and recall; 1 where there is nothing to find and nothing found.

    Example:
        >>> f1({("a", "b")}, {("a", "b"), ("b", "c")})
        0.6666666666666666
    """
    if not found and not gold:
        return 1.0
    return 2 * len(found & gold) / (len(found) + len(gold))


def is_chain(queries: Iterable[DatasetQuery]) -> bool:
    """Tell whether gold edges are the neighbours in the order of the gold tools throughout."""
    known = [query for query in queries if query.edges is not None]
    return bool(known) and all(
        frozenset(query.edges or ()) == neighbours(query.tools) for query in known
    )


def means(judged: Sequence[WorkflowFigures]) -> WorkflowFigures:
    """Return the mean of each figure over the workflows that have it."""
    columns: Mapping[str, list[float]] = {
        one.name: [
            value for figures in judged if (value := getattr(figures, one.name)) is not None
        ]
        for one in fields(WorkflowFigures)
    }
    return WorkflowFigures(
        **{name: float(np.mean(column)) if column else None for name, column in columns.items()}
    )
