"""How much one person may teach those with whom they share what is learned.

Whatever is counted is counted through here: relations, patterns and the sources of arguments,
experience, popularity, outcomes and next calls. Alone, nobody is limited.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from datetime import date
from statistics import median_low
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")


class Share(NamedTuple):
    """The most that one person may contribute.

    Attributes:
        a_day: Contributions of one day that count.
        in_all: All that count, of the last `WINDOW_DAYS`.
    """

    a_day: int
    in_all: int

    def has_room(self, *, today: float, in_all: float) -> bool:
        """Whether one more contribution counts, after some of today and some in all."""
        return today < self.a_day and in_all < self.in_all


# Ten successes of ten are a confidence of 11/12, which is less than the 0.92 from which workflows
# are run ahead: that takes two persons. Three days fill a share, as three persons make a literal.
OF_ONE_THING: Final = Share(a_day=4, in_all=10)
"""What one person may contribute to one set of tools, relation, tool or context."""
OF_EVERYTHING: Final = Share(a_day=40, in_all=400)
"""What one person may contribute to all of them together."""
WINDOW_DAYS: Final = 90
"""Days after which a person's contributions to a thing are counted anew."""
MIN_WITNESSES: Final = 3
"""Persons who must have used a literal before others see it; of a team of one: days. As many
contributions of each person count, whatever the others contribute."""


def limit_contributions(
    items: Iterable[T], describe: Callable[[T], tuple[Hashable, date, Hashable]]
) -> list[T]:
    """Return the items that are within the shares of those who contributed them, in their order.

    Of one thing nobody contributes more than the median of all who do, unless that is less than
    `MIN_WITNESSES`: a few who are busier than the others outvote none of them.

    Args:
        items: Those that count rather come first.
        describe: Returns who contributed an item, on which day, and to what.

    Example:
        >>> votes = [*("mallory" for _ in range(9)), "ann", "bob", "eve"]
        >>> limited = limit_contributions(votes, lambda who: (who, date(2026, 1, 1), "x"))
        >>> limited.count("mallory"), len(limited)
        (3, 6)
    """
    counter = ShareCounter()
    admitted = [item for item in items if counter.admit(*describe(item))]
    by_thing: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for person, _, thing in map(describe, admitted):
        by_thing[thing][person] += 1
    most = {
        thing: max(MIN_WITNESSES, median_low(counts.values()))
        for thing, counts in by_thing.items()
    }
    kept: list[T] = []
    so_far: Counter[tuple[Hashable, Hashable]] = Counter()
    for item in admitted:
        person, _, thing = describe(item)
        so_far[person, thing] += 1
        if so_far[person, thing] <= most[thing]:
            kept.append(item)
    return kept


class ShareCounter:
    """Counts contributions as they come, and says which ones count. For one thread at a time."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Hashable, ...]] = Counter()

    def admit(self, person: Hashable, day: date, thing: Hashable = None) -> bool:
        """Count a contribution unless the person's share is used up; return whether it counts.

        Args:
            person: Who contributes.
            day: The day on which they do.
            thing: What they contribute to; None: to nothing but the whole.

        Example:
            >>> counter = ShareCounter()
            >>> sum(counter.admit("ann", date(2026, 1, 1), "read_file") for _ in range(100))
            4
        """
        wanted: list[tuple[Share, tuple[Hashable, ...]]] = [(OF_EVERYTHING, (person,))]
        if thing is not None:
            wanted.append((OF_ONE_THING, (person, thing)))
        counts = self._counts
        if not all(
            share.has_room(today=counts[*key, day], in_all=counts[key]) for share, key in wanted
        ):
            return False
        for _, key in wanted:
            counts[key] += 1
            counts[*key, day] += 1
        return True
