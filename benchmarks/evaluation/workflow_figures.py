"""Judge a suggested workflow: its set of tools and their order.

Both are compared as sets: a tool that a workflow uses twice counts once, and so does a pair of
tools. Edges are pairs of adjacent tools, which is also how data sets express chains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from benchmarks.evaluation.answer import DatasetToolPair, SuggestedAnswer
from benchmarks.evaluation.dataset import DatasetQuery
from benchmarks.evaluation.metrics import compute_gains


@dataclass(frozen=True, kw_only=True)
class WorkflowFigures:
    """Figures of one workflow, or their means over several, in [0, 1]; None without gold.

    Attributes:
        node_f1: F1 of the set of tools.
        edge_f1: F1 of the pairs of adjacent tools.
        exact_set: Whether the set of tools is right.
        exact_dag: Whether the set and the pairs are right.
    """

    node_f1: float | None
    edge_f1: float | None
    exact_set: float | None
    exact_dag: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the figures by name."""
        return {figure.name: getattr(self, figure.name) for figure in fields(self)}


def judge_workflow(chain: Sequence[str], query: DatasetQuery) -> WorkflowFigures:
    """Judge the ordered tools of a workflow by a query's gold.

    Args:
        chain: The data set's ids; a tool may recur.
        query: A query with at least one slot.
    """
    tools = list(dict.fromkeys(chain))
    filled_count = sum(compute_gains(tools, query.slots))
    exact = filled_count == len(query.slots) == len(tools)
    node_f1 = 2 * filled_count / (len(tools) + len(query.slots))
    if query.edges is None:
        return WorkflowFigures(
            node_f1=node_f1, edge_f1=None, exact_set=float(exact), exact_dag=None
        )
    suggested, gold = adjacent_pairs(chain), frozenset(query.edges)
    return WorkflowFigures(
        node_f1=node_f1,
        edge_f1=f1_score(suggested, gold),
        exact_set=float(exact),
        exact_dag=float(exact and suggested == gold),
    )


def dependency_f1(answer: SuggestedAnswer, query: DatasetQuery) -> float | None:
    """F1 of the dependencies, for gold whose edges are data flow and not mere order."""
    return None if query.edges is None else f1_score(answer.ordered_pairs, frozenset(query.edges))


def adjacent_pairs(chain: Sequence[str]) -> frozenset[DatasetToolPair]:
    """Return the pairs of adjacent tools.

    Example:
        >>> sorted(adjacent_pairs(["a", "b", "b"]))
        [('a', 'b'), ('b', 'b')]
    """
    return frozenset(pairwise(chain))


def f1_score(found: AbstractSet[DatasetToolPair], gold: AbstractSet[DatasetToolPair]) -> float:
    """Harmonic mean of precision and recall; 1 if both are empty.

    Example:
        >>> f1_score({("a", "b")}, {("a", "b"), ("b", "c")})
        0.6666666666666666
    """
    if not found and not gold:
        return 1.0
    return 2 * len(found & gold) / (len(found) + len(gold))


def are_edges_chains(queries: Iterable[DatasetQuery]) -> bool:
    """Whether all gold edges are exactly the adjacent pairs of the gold tools."""
    with_edges = [query for query in queries if query.edges is not None]
    return bool(with_edges) and all(
        frozenset(query.edges or ()) == adjacent_pairs(query.tools) for query in with_edges
    )


def mean_figures(judged: Sequence[WorkflowFigures]) -> WorkflowFigures:
    """Return the mean of each figure over the workflows that have it."""
    columns: Mapping[str, list[float]] = {
        figure.name: [
            value for figures in judged if (value := getattr(figures, figure.name)) is not None
        ]
        for figure in fields(WorkflowFigures)
    }
    return WorkflowFigures(
        **{name: float(np.mean(column)) if column else None for name, column in columns.items()}
    )
