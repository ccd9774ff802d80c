"""Measure what knowing one tool in use does for finding the others.

    FOREGATE_DATA=FOLDER python -m benchmarks.search_context [--limit N]

Of each query that needs several tools one is drawn and given as context; judged is how well the
others are found: nDCG@10 of the rest, with the context shown again, left out, and with other
tools of its server preferred by several weights.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass

import numpy as np

from benchmarks.judged import RATIO, Floats, Judged, every_set

WEIGHTS = (0.02, 0.05, 0.1, 0.2)
MIN_QUERIES = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """A query with one of its tools known.

    Attributes:
        query: The query.
        worth: What speaks for each candidate.
        known: Position of the tool in use.
        rest: What is still needed.
    """

    query: Judged
    worth: Floats
    known: int
    rest: tuple[frozenset[str], ...]

    def ndcg(self, weight: float | None) -> float:
        """NDCG@10 of the rest; None: the tool in use is shown again."""
        total = self.worth.copy()
        if weight is not None:
            total += weight * (self.query.servers == self.query.servers[self.known])
            total[self.known] = -np.inf
        return self.query.ndcg(total, self.rest)


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=int, default=1_100, help="queries of each set, about")
    sets = every_set(limit=parser.parse_args().limit)
    print("nDCG@10 of the rest: shown again, left out, server preferred by", *WEIGHTS)
    for name, rows in sets.items():
        cases = [case for case in map(draw, rows) if case is not None]
        if len(cases) >= MIN_QUERIES:
            means = [
                100 * np.mean([case.ndcg(weight) for case in cases])
                for weight in (None, 0.0, *WEIGHTS)
            ]
            print(f"{name:16s} {len(cases):5d} " + " ".join(f"{mean:6.1f}" for mean in means))


def draw(query: Judged) -> Case | None:
    """Draw the tool that is known; None where fewer than two are needed or it was not found."""
    slots = query.slots
    if len(slots) < 2:
        return None
    drawn = random.Random(repr(sorted(map(sorted, slots)))).randrange(len(slots))  # noqa: S311
    found = [at for at, name in enumerate(query.ids) if name in slots[drawn]]
    if not found:
        return None
    known = query.ids[found[0]]
    rest = tuple(s for at, s in enumerate(slots) if at != drawn and known not in s)
    if not rest:
        return None
    total = query.dense + RATIO * query.lexical
    return Case(query=query, worth=total, known=found[0], rest=rest)


if __name__ == "__main__":
    main()
