"""Cut a ranked list where its tokens would exceed a budget."""

from __future__ import annotations

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
        tokens: What the kept ones cost.
    """

    kept: tuple[Item, ...]
    left_out: tuple[Item, ...]
    tokens: int


def cut(
    ranked: Sequence[Item],
    *,
    cost: Callable[[Item], int],
    budget_tokens: int,
    at_least: int = 0,
) -> Cut[Item]:
    """Keep the beginning of a ranked list that fits a budget.

    Nothing after the first item that does not fit is kept: a cheap tool must not overtake a
    better one for its price.

    Args:
        ranked: Best first.
        cost: Tokens of an item, not negative.
        budget_tokens: Tokens to spend at most.
        at_least: Items kept whatever they cost.

    Raises:
        ValueError: If the budget is negative.

    Example:
        >>> cut(["a", "bbb", "c"], cost=len, budget_tokens=3)
        Cut(kept=('a',), left_out=('bbb', 'c'), tokens=1)
    """
    if budget_tokens < 0:
        raise ValueError(f"a token budget is not negative: {budget_tokens}")
    spent = 0
    for index, item in enumerate(ranked):
        price = cost(item)
        if spent + price > budget_tokens and index >= at_least:
            return Cut(kept=tuple(ranked[:index]), left_out=tuple(ranked[index:]), tokens=spent)
        spent += price
    return Cut(kept=tuple(ranked), left_out=(), tokens=spent)
