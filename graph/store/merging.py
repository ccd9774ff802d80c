"""Past intents that are told apart by nothing but values are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.ranking.past import PastIntent


def merged(seen: Iterable[tuple[str, PastIntent]]) -> list[PastIntent]:
    """Return past intents, those of one text that ran one set of tools as one, oldest first.

    What differs in references, in what waits for what, or in the team that ran it would otherwise
    be found when an intent is judged by the others, and is the intent itself.

    Args:
        seen: Each with its text without values.
    """
    alike: dict[tuple[str, frozenset[int]], list[PastIntent]] = defaultdict(list)
    for text, past in seen:
        alike[text, frozenset(past.tools)].append(past)
    found = (ones[0] if len(ones) == 1 else _one(ones) for ones in alike.values())
    return sorted(found, key=attrgetter("last_seen", "pattern"))


def _one(alike: Sequence[PastIntent]) -> PastIntent:
    """Return several as one: in the order that most runs had, of these the newest."""
    orders: dict[tuple[int, ...], list[PastIntent]] = defaultdict(list)
    for past in alike:
        orders[past.tools].append(past)
    most = max(
        orders.values(),
        key=lambda ones: (sum(one.successes for one in ones), max(one.last_seen for one in ones)),
    )
    return replace(
        max(most, key=attrgetter("last_seen", "pattern")),
        successes=sum(past.successes for past in alike),
        failures=sum(past.failures for past in alike),
        last_seen=max(past.last_seen for past in alike),
    )
