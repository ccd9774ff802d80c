"""The arcs of a topology as a sparse matrix, for computations over the whole graph."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graph.relations import PATH_KINDS, Relation
from graph.topology import Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SOURCE, TARGET, CONFIDENCE = (
    Relation._fields.index(n) for n in ("source", "target", "confidence")
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Matrix:
    """Weighted arcs between tools.

    Attributes:
        tools: int64, shape (n,), ascending: the primary key of each row and column.
        weights: float64 in (0, 1], shape (n, n): the best confidence from the row's tool to the
            column's; the diagonal is empty.
    """

    tools: NDArray[np.int64]
    weights: csr_array


def build_matrix(topology: Topology) -> Matrix:
    """Return the arcs of a topology: path kinds only, symmetric ones in both directions.

    Every tool with a relation of any kind has a row.
    """
    paths = [one for one in topology.iterate_relations() if one.kind in PATH_KINDS]
    back = [one for one in paths if one.kind.traits.is_symmetric]
    return matrix_from_arrays(
        np.concatenate(
            [_relation_column(paths, SOURCE, np.int64), _relation_column(back, TARGET, np.int64)]
        ),
        np.concatenate(
            [_relation_column(paths, TARGET, np.int64), _relation_column(back, SOURCE, np.int64)]
        ),
        np.concatenate(
            [
                _relation_column(paths, CONFIDENCE, np.float64),
                _relation_column(back, CONFIDENCE, np.float64),
            ]
        ),
        tools=np.fromiter(topology.collect_tools(), np.int64),
    )


def _relation_column(relations: list[Relation], place: int, dtype: type) -> NDArray[Any]:
    return np.fromiter(map(itemgetter(place), relations), dtype, len(relations))


def matrix_from_arrays(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    tools: NDArray[np.int64] | None = None,
) -> Matrix:
    """Return the matrix of arcs; of several between two tools the heaviest wins.

    O(arcs log arcs).

    Args:
        sources: Primary keys, shape (m,).
        targets: Primary keys, shape (m,).
        weights: In [0, 1], shape (m,); arcs without weight and self-loops are dropped.
        tools: Further tools that get a row.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - heavy

    all_tools = np.unique(np.concatenate([sources, targets, *([] if tools is None else [tools])]))
    n = len(all_tools)
    is_kept = (weights > 0.0) & (sources != targets)
    rows = np.searchsorted(all_tools, sources[is_kept])
    places = rows * n + np.searchsorted(all_tools, targets[is_kept])
    order = np.argsort(places)
    places = places[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))
    rows, columns = np.divmod(places[first], max(n, 1))
    data = np.maximum.reduceat(weights[is_kept][order], first) if len(first) else np.empty(0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    index = (columns.astype(np.int32), starts.astype(np.int32))
    return Matrix(tools=all_tools, weights=csr_array((data, *index), shape=(n, n)))
