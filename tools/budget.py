"""Cut a ranked list where its tokens would exceed a budget."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Cut(Generic[Item]):
    """What fits a budget.

    Attributes:
        kept: The longest beginning of the list that fits, best first.
        left_out: What follows it.
        tokens: What the kept ones cost, sent together; 0 if there are none.
    """

    kept: tuple[Item, ...]
    left_out: tuple[Item, ...]
    tokens: int


def cut(
    ranked: Sequence[Item],
    *,
    cost: Callable[[Sequence[Item]], int],
    budget_tokens: int,
    at_least: int = 0,
) -> Cut[Item]:
    """Keep the beginning of a ranked list that fits a budget.

    Nothing after the first item that does not fit is kept: a cheap tool must not overtake a
    better one for its price. The list is counted as it is sent, never item by item: tokens run
    across the commas between them.

    Args:
        ranked: Best first.
        cost: Tokens of a beginning of the list; not less for a longer one.
        budget_tokens: Tokens to spend at most.
        at_least: Items kept whatever they cost.

    Raises:
        ValueError: If the budget is negative.

    Example:
        >>> cut(["a", "bbb", "c"], cost=lambda some: len("".join(some)), budget_tokens=3)
        Cut(kept=('a',), left_out=('bbb', 'c'), tokens=1)

    Complexity: O(log n) counts.
    """
    if budget_tokens < 0:
        raise ValueError(f"a token budget is not negative: {budget_tokens}")
    sizes = range(1, len(ranked) + 1)
    fitting = bisect.bisect_right(sizes, budget_tokens, key=lambda size: cost(ranked[:size]))
    size = max(fitting, min(at_least, len(ranked)))
    kept = tuple(ranked[:size])
    return Cut(kept=kept, left_out=tuple(ranked[size:]), tokens=cost(kept) if kept else 0)
