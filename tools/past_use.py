"""What past requests say of the tools for a query, as search takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class PastUse:
    """What past requests say of the tools for a query.

    Attributes:
        familiarity: Weight of past requests against the texts of the tools, in [0, 1].
        log_odds: Log-odds that each tool is needed, by primary key.
        similar_requests: Number of past requests that resemble the query.
        use_counts: Number of these that used each tool, by primary key; absent: none.
    """

    familiarity: float
    log_odds: Mapping[int, float]
    similar_requests: int = 0
    use_counts: Mapping[int, int] = field(default_factory=dict)

    def explain(self, tool: int) -> str:
        """Return in how many similar requests a tool was used; empty: in none.

        Example:
            >>> past_use = PastUse(
            ...     familiarity=0.9, log_odds={1: 2.0}, similar_requests=8, use_counts={1: 7}
            ... )
            >>> past_use.explain(1), past_use.explain(2)
            ('used in 7 of 8 similar requests', '')
        """
        used = self.use_counts.get(tool, 0)
        if not used:
            return ""
        noun = "request" if self.similar_requests == 1 else "requests"
        return f"used in {used} of {self.similar_requests} similar {noun}"


WeighPastUse = Callable[[str, Sequence[int]], PastUse | None]
"""Weighs what past requests say of a query and the best tools by text, given by primary key; may
add other tools. None: nothing is known. CPU-bound, in memory; for any thread."""


def ignore_past_use(_query: str, _tools: Sequence[int]) -> PastUse | None:
    """Null implementation of `WeighPastUse`: nothing is known."""
    return None
