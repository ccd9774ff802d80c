"""Predict tools and their number from similar past intents by kernel ridge regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.terms import TermIndex

PENALTY: Final = 0.2
KERNEL_WIDTH: Final = 0.3
"""Width of the exponential kernel over cosines; this, the penalty and the share of words were
chosen by cross-validation on ultratool."""

WORD_SHARE: Final = 0.5

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class RidgeModel:
    """A fitted regression over r past intents, u tools wide.

    The kernel is exp((cosine - 1) / `KERNEL_WIDTH`) + `WORD_SHARE` · cosine of the words. Targets
    are 1 for a tool the run called and 0 otherwise; they are not centred, because the mean would
    leak a run's own label into its leave-one-out prediction.

    Attributes:
        terms: Term index of the intents.
        weights: Dual coefficients of the v distinct columns of targets, shape (r, v).
        columns: Column of each tool, shape (u,); tools called by the same runs share one.
        size_weights: Dual coefficients of the number of tools minus `mean_size`, shape (r,).
        mean_size: Mean number of tools.
    """

    terms: TermIndex
    weights: Floats
    columns: Positions
    size_weights: Floats
    mean_size: float

    def predict_wanted(self, cosines: Floats, words: Sequence[int]) -> tuple[Floats, float]:
        """Predict the score of each tool and the number of tools.

        Args:
            cosines: Cosines of the intent with each of the r, shape (r,).
            words: Keys of its lexemes, in order.

        Returns:
            Scores, shape (u,), roughly in [0, 1]; and the expected number of tools.
        """
        kernel = np.exp((cosines - 1) / np.float32(KERNEL_WIDTH))
        kernel += np.float32(WORD_SHARE) * self.terms.compute_similarity(words)
        scores = (kernel @ self.weights)[self.columns]
        return scores, self.mean_size + float(kernel @ self.size_weights)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Serialize to arrays, weights in half precision."""
        terms = {f"terms_{name}": array for name, array in self.terms.to_arrays().items()}
        return terms | {
            "weights": self.weights.astype(np.float16),
            "columns": self.columns,
            "size_weights": self.size_weights,
            "mean_size": np.array(self.mean_size),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> RidgeModel:
        """Read the output of `to_arrays`."""
        prefix = "terms_"
        terms = {name.removeprefix(prefix): array for name, array in arrays.items()}
        return cls(
            terms=TermIndex.from_arrays(terms),
            weights=arrays["weights"].astype(np.float32),
            columns=arrays["columns"],
            size_weights=arrays["size_weights"],
            mean_size=float(arrays["mean_size"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LeaveOneOut:
    """Leave-one-out predictions of the regression for its own intents.

    Attributes:
        wanted_by_column: Scores of each distinct column, shape (r, v).
        tool_columns: Column of each tool, shape (u,).
        sizes: Predicted number of tools, shape (r,).
    """

    wanted_by_column: Floats
    tool_columns: Positions
    sizes: Floats

    def wanted_scores(self, row: int) -> Floats:
        """Return the score of each tool for one intent, shape (u,)."""
        return np.asarray(self.wanted_by_column[row, self.tool_columns])


def fit_ridge(
    vectors: Floats,
    words: Sequence[Sequence[int]],
    *,
    rows: Positions,
    tools: Positions,
    width: int,
) -> tuple[RidgeModel, LeaveOneOut]:
    """Fit on r past intents.

    Args:
        vectors: Vectors of the intents, norm 1, shape (r, d).
        words: Lexeme keys of each intent, in order.
        rows: Intent of each call, ascending, shape (p,).
        tools: Tool of each call, below `width`, shape (p,); distinct per intent.
        width: Number of tools, u.

    Returns:
        The regression and its leave-one-out predictions, in closed form.

    Complexity:
        O(r³) time, 16 r² bytes.

    References:
        Hastie, Tibshirani & Friedman, The Elements of Statistical Learning (2009), 7.10.
    """
    terms = TermIndex.from_texts(words)
    inverse = _invert_with_penalty(_compute_kernel(vectors, terms))
    own: Doubles = np.diag(inverse).copy()
    columns, calls = _index_called_tools(rows, tools, shape=(len(vectors), width))
    dual = np.asarray((calls.T @ inverse).T, dtype=np.float32, order="C")
    left_out_scores = calls.toarray().astype(np.float32)
    left_out_scores -= dual / own[:, None].astype(np.float32)
    sizes = np.bincount(rows, minlength=len(vectors)).astype(np.float64)
    size_weights = inverse @ (sizes - sizes.mean())
    ridge = RidgeModel(
        terms=terms,
        weights=dual,
        columns=columns,
        size_weights=size_weights.astype(np.float32),
        mean_size=float(sizes.mean()),
    )
    left_out_sizes = _predict_left_out_sizes(inverse, own, sizes)
    return ridge, LeaveOneOut(
        wanted_by_column=left_out_scores,
        tool_columns=columns,
        sizes=left_out_sizes.astype(np.float32),
    )


def _compute_kernel(vectors: Floats, terms: TermIndex) -> Doubles:
    kernel = (vectors @ vectors.T).astype(np.float64)
    kernel -= 1
    kernel /= KERNEL_WIDTH
    np.exp(kernel, out=kernel)
    kernel += WORD_SHARE * terms.compute_gram()
    return kernel


def _invert_with_penalty(kernel: Doubles) -> Doubles:
    """Return the inverse of the kernel with the penalty added; the kernel's memory is reused."""
    from scipy.linalg import lapack  # noqa: PLC0415 - heavy

    kernel[np.diag_indices_from(kernel)] += PENALTY
    factor, failed = lapack.dpotrf(kernel.T, lower=1, overwrite_a=1)
    if failed:
        raise ValueError(f"the kernel of past intents is not positive definite: {failed}")
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    _mirror_lower_triangle(inverse)
    return np.asarray(inverse)


def _mirror_lower_triangle(lower: Doubles, block: int = 512) -> None:
    """Copy the lower triangle to the upper one, block by block."""
    for start in range(0, len(lower), block):
        end = start + block
        lower[start:end, end:] = lower[end:, start:end].T
        corner = lower[start:end, start:end]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T


def _index_called_tools(
    rows: Positions, tools: Positions, *, shape: tuple[int, int]
) -> tuple[Positions, Any]:
    """Return the column of each tool, and the calls by column as a sparse matrix (r, v)."""
    from scipy import sparse  # noqa: PLC0415 - heavy

    order = np.lexsort((rows, tools))
    ends = np.cumsum(np.bincount(tools, minlength=shape[1]))
    called_by = np.split(rows[order], ends)[: shape[1]]
    numbers: dict[bytes, int] = {}
    columns = [numbers.setdefault(runs.tobytes(), len(numbers)) for runs in called_by]
    column_of = np.array(columns, dtype=np.intp)
    pairs = np.unique(np.stack((rows, column_of[tools])), axis=1)
    size = (shape[0], len(numbers))
    return column_of, sparse.csr_matrix((np.ones(pairs.shape[1]), tuple(pairs)), shape=size)


def _predict_left_out_sizes(inverse: Doubles, own: Doubles, sizes: Doubles) -> Doubles:
    """Predict each size from the others, centred on the mean of those others."""
    count = len(sizes)
    means = (sizes.sum() - sizes) / max(count - 1, 1)
    others = inverse @ sizes - own * sizes
    shift = inverse.sum(axis=1) - own
    return np.asarray(means + (means * shift - others) / own)
