"""Measures how knowing one tool in use helps to find the others.

    FOREGATE_DATA=FOLDER python -m benchmarks.search_context [--limit N]

For each query that needs several tools, one is drawn and given as context. The measure is the
nDCG@10 of the rest, with the context tool shown again, left out, and with other tools of its
server preferred by several weights.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass

import numpy as np

from benchmarks.judged import RATIO, Floats, JudgedQuery, judge_all_sets

WEIGHTS = (0.02, 0.05, 0.1, 0.2)
MIN_QUERIES = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """A query with one of its tools known.

    Attributes:
        query: The query.
        worth: Score of each candidate.
        known: Index of the tool in use.
        rest: Gold without that tool.
    """

    query: JudgedQuery
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
    sets = judge_all_sets(limit=parser.parse_args().limit)
    print("nDCG@10 of the rest: shown again, left out, server preferred by", *WEIGHTS)
    for name, rows in sets.items():
        cases = [case for case in map(draw_case, rows) if case is not None]
        if len(cases) >= MIN_QUERIES:
            means = [
                100 * np.mean([case.ndcg(weight) for case in cases])
                for weight in (None, 0.0, *WEIGHTS)
            ]
            print(f"{name:16s} {len(cases):5d} " + " ".join(f"{mean:6.1f}" for mean in means))


def draw_case(query: JudgedQuery) -> Case | None:
    """Draw the known tool; None if fewer than two are needed or it was not found."""
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
