"""The arcs of a topology as a sparse matrix, for what is computed over all of it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.relations import PATH_KINDS, Kind, Relation
from graph.topology import Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PATHS: Final = tuple(PATH_KINDS)  # members of an enumeration are slow to hash
SOURCE, TARGET, SURE = (Relation._fields.index(n) for n in ("source", "target", "confidence"))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Matrix:
    """Weighted arcs between tools.

    Attributes:
        tools: int64, shape (n,), ascending: the primary key of each row and column.
        weights: float64 in (0, 1], shape (n, n): the best confidence from the row's tool to the
            column's. Nothing on the diagonal.
    """

    tools: NDArray[np.int64]
    weights: csr_array


def matrix(topology: Topology) -> Matrix:
    """Return the arcs of a topology: kinds of paths, co-occurrence both ways.

    Every tool that has relations of any kind has a row.
    """
    paths = [relation for relation in topology.relations() if relation.kind in _PATHS]
    back = [relation for relation in paths if relation.kind is Kind.OFTEN_USED_WITH]
    return from_arrays(
        np.concatenate([_column(paths, SOURCE, np.int64), _column(back, TARGET, np.int64)]),
        np.concatenate([_column(paths, TARGET, np.int64), _column(back, SOURCE, np.int64)]),
        np.concatenate([_column(paths, SURE, np.float64), _column(back, SURE, np.float64)]),
        tools=np.fromiter(topology.tools(), np.int64),
    )


def _column(relations: list[Relation], place: int, dtype: type) -> NDArray[Any]:
    return np.fromiter(map(itemgetter(place), relations), dtype, len(relations))


def from_arrays(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    tools: NDArray[np.int64] | None = None,
) -> Matrix:
    """Return the matrix of arcs; of several between two tools the heaviest counts.

    O(arcs log arcs).

    Args:
        sources: Primary keys, shape (m,).
        targets: Primary keys, shape (m,).
        weights: In [0, 1], shape (m,); arcs without weight and from a tool to itself are left out.
        tools: More tools that are to have a row.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - heavy

    every = np.unique(np.concatenate([sources, targets, *([] if tools is None else [tools])]))
    n = len(every)
    counts = (weights > 0.0) & (sources != targets)
    rows = np.searchsorted(every, sources[counts])
    places = rows * n + np.searchsorted(every, targets[counts])
    order = np.argsort(places)
    places = places[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))
    rows, columns = np.divmod(places[first], max(n, 1))
    data = np.maximum.reduceat(weights[counts][order], first) if len(first) else np.empty(0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    index = (columns.astype(np.int32), starts.astype(np.int32))
    return Matrix(tools=every, weights=csr_array((data, *index), shape=(n, n)))
