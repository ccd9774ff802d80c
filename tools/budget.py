"""Cut a ranked list to a token budget."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

RankedItem = TypeVar("RankedItem")


@dataclass(frozen=True, kw_only=True)
class BudgetCut(Generic[RankedItem]):
    """A ranked list split by a budget.

    Attributes:
        kept: The longest prefix that fits, best first.
        left_out: The rest.
        tokens: Tokens of the kept items, sent together; 0 if there are none.
    """

    kept: tuple[RankedItem, ...]
    left_out: tuple[RankedItem, ...]
    tokens: int


def cut_to_budget(
    ranked: Sequence[RankedItem],
    *,
    cost: Callable[[Sequence[RankedItem]], int],
    budget_tokens: int,
    at_least: int = 0,
) -> BudgetCut[RankedItem]:
    """Keep the prefix of a ranked list that fits a budget.

    Nothing after the first item that does not fit is kept: a cheap tool must not overtake a
    better one. The list is counted as it is sent, not item by item: tokens span the commas
    between items.

    Args:
        ranked: Best first.
        cost: Tokens of a prefix of the list; monotonic in its length.
        budget_tokens: Maximum number of tokens.
        at_least: Number of items kept regardless of their cost.

    Raises:
        ValueError: If the budget is negative.

    Example:
        >>> cut_to_budget(["a", "bbb", "c"], cost=lambda kept: len("".join(kept)), budget_tokens=3)
        BudgetCut(kept=('a',), left_out=('bbb', 'c'), tokens=1)

    Complexity: one call of `cost` if all fit, else O(log n).
    """
    if budget_tokens < 0:
        raise ValueError(f"a token budget is not negative: {budget_tokens}")
    whole = cost(ranked) if ranked else 0
    if whole <= budget_tokens:
        return BudgetCut(kept=tuple(ranked), left_out=(), tokens=whole)
    sizes = range(1, len(ranked))
    fitting = bisect.bisect_right(sizes, budget_tokens, key=lambda size: cost(ranked[:size]))
    size = max(fitting, min(at_least, len(ranked)))
    kept = tuple(ranked[:size])
    return BudgetCut(kept=kept, left_out=tuple(ranked[size:]), tokens=cost(kept) if kept else 0)
