"""Which tools, and how many, like intents had: kernel ridge regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.terms import Terms

PENALTY: Final = 0.2
WIDTH: Final = 0.3
"""Of the exponential kernel over cosines; this, the penalty and the share of words were chosen by
cross-validation on ultratool."""

WORD_SHARE: Final = 0.5

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ridge:
    """A fitted regression over r past intents, u tools wide.

    The kernel is exp((cosine - 1) / `WIDTH`) + `WORD_SHARE` · cosine of the words. Targets are 1
    for a tool the run called and 0 otherwise; they are not centred, for then the mean would tell
    a run's own label in leaving it out.

    Attributes:
        terms: The words of the intents.
        weights: Dual coefficients of the v distinct columns of targets, shape (r, v).
        columns: Column of each tool; tools that the same runs called share one, shape (u,).
        size_weights: Dual coefficients of the number of tools less `mean_size`, shape (r,).
        mean_size: Mean number of tools.
    """

    terms: Terms
    weights: Floats
    columns: Positions
    size_weights: Floats
    mean_size: float

    def predict(self, cosines: Floats, words: Sequence[int]) -> tuple[Floats, float]:
        """Say how much each tool is wanted, and how many tools are.

        Args:
            cosines: Of the intent and each of the r, shape (r,).
            words: Keys of its lexemes, in order.

        Returns:
            Shape (u,), about [0, 1]; and a number of tools.
        """
        near = np.exp((cosines - 1) / np.float32(WIDTH))
        near += np.float32(WORD_SHARE) * self.terms.similarity(words)
        wanted = (near @ self.weights)[self.columns]
        return wanted, self.mean_size + float(near @ self.size_weights)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Write it as arrays, weights in half precision."""
        terms = {f"terms_{name}": array for name, array in self.terms.to_arrays().items()}
        return terms | {
            "weights": self.weights.astype(np.float16),
            "columns": self.columns,
            "size_weights": self.size_weights,
            "mean_size": np.array(self.mean_size),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Ridge:
        """Read what `to_arrays` wrote."""
        begin = "terms_"
        terms = {name.removeprefix(begin): array for name, array in arrays.items()}
        return cls(
            terms=Terms.from_arrays(terms),
            weights=arrays["weights"].astype(np.float32),
            columns=arrays["columns"],
            size_weights=arrays["size_weights"],
            mean_size=float(arrays["mean_size"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOut:
    """What the regression says of each of its own intents without it.

    Attributes:
        columns: How much the tools of each distinct column are wanted, shape (r, v).
        of: Column of each tool, shape (u,).
        sizes: How many tools are, shape (r,).
    """

    columns: Floats
    of: Positions
    sizes: Floats

    def wanted(self, row: int) -> Floats:
        """Return how much each tool is wanted by one intent, shape (u,)."""
        return np.asarray(self.columns[row, self.of])


def fit_ridge(
    vectors: Floats,
    words: Sequence[Sequence[int]],
    *,
    rows: Positions,
    tools: Positions,
    width: int,
) -> tuple[Ridge, LeftOut]:
    """Fit on r past intents.

    Args:
        vectors: Of the intents, norm 1, shape (r, d).
        words: Keys of the lexemes of each, in order.
        rows: The intent of each call, ascending, shape (p,).
        tools: The tool of each call, below `width`, shape (p,); none twice for one intent.
        width: Tools, u.

    Returns:
        The regression and what it says with each intent left out, in closed form.

    Complexity:
        O(r³), 8 r² bytes twice over.

    References:
        Hastie, Tibshirani & Friedman, The Elements of Statistical Learning (2009), 7.10.
    """
    terms = Terms.of(words)
    inverse = _inverse(_kernel(vectors, terms))
    own: Doubles = np.diag(inverse).copy()
    columns, calls = _distinct(rows, tools, shape=(len(vectors), width))
    dual = np.asarray((calls.T @ inverse).T, dtype=np.float32, order="C")
    wanted = calls.toarray().astype(np.float32)
    wanted -= dual / own[:, None].astype(np.float32)
    sizes = np.bincount(rows, minlength=len(vectors)).astype(np.float64)
    size_weights = inverse @ (sizes - sizes.mean())
    ridge = Ridge(
        terms=terms,
        weights=dual,
        columns=columns,
        size_weights=size_weights.astype(np.float32),
        mean_size=float(sizes.mean()),
    )
    left_out = _sizes_left_out(inverse, own, sizes)
    return ridge, LeftOut(columns=wanted, of=columns, sizes=left_out.astype(np.float32))


def _kernel(vectors: Floats, terms: Terms) -> Doubles:
    kernel = (vectors @ vectors.T).astype(np.float64)
    kernel -= 1
    kernel /= WIDTH
    np.exp(kernel, out=kernel)
    kernel += WORD_SHARE * terms.gram()
    return kernel


def _inverse(kernel: Doubles) -> Doubles:
    """Return the inverse of the kernel with the penalty added; the kernel's memory is reused."""
    from scipy.linalg import lapack  # noqa: PLC0415 - heavy

    kernel[np.diag_indices_from(kernel)] += PENALTY
    factor, failed = lapack.dpotrf(kernel.T, lower=1, overwrite_a=1)
    if failed:
        raise ValueError(f"the kernel of past intents is not positive definite: {failed}")
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    _mirror(inverse)
    return np.asarray(inverse)


def _mirror(lower: Doubles, block: int = 512) -> None:
    """Copy what is under the diagonal to above it, block by block."""
    for start in range(0, len(lower), block):
        end = start + block
        lower[start:end, end:] = lower[end:, start:end].T
        corner = lower[start:end, start:end]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T


def _distinct(
    rows: Positions, tools: Positions, *, shape: tuple[int, int]
) -> tuple[Positions, Any]:
    """Return the column of each tool, and the calls of each column as a sparse matrix (r, v)."""
    from scipy import sparse  # noqa: PLC0415 - heavy

    order = np.lexsort((rows, tools))
    ends = np.cumsum(np.bincount(tools, minlength=shape[1]))
    called_by = np.split(rows[order], ends)[: shape[1]]
    numbers: dict[bytes, int] = {}
    columns = [numbers.setdefault(runs.tobytes(), len(numbers)) for runs in called_by]
    found = np.array(columns, dtype=np.intp)
    pairs = np.unique(np.stack((rows, found[tools])), axis=1)
    size = (shape[0], len(numbers))
    return found, sparse.csr_matrix((np.ones(pairs.shape[1]), tuple(pairs)), shape=size)


def _sizes_left_out(inverse: Doubles, own: Doubles, sizes: Doubles) -> Doubles:
    """Predict each size from the others, which are centred on the mean of the others."""
    count = len(sizes)
    means = (sizes.sum() - sizes) / max(count - 1, 1)
    others = inverse @ sizes - own * sizes
    shift = inverse.sum(axis=1) - own
    return np.asarray(means + (means * shift - others) / own)
