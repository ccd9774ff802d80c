"""Time what the graph adds to one search, and what a described tool needs of it.

    python -m benchmarks.enhancement

Random graphs of two sizes. In one of each, the tools that relations lead to are drawn evenly; in
the other, few of them are led to by very many, as a login is.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from graph.enhance import instead
from graph.enhance.enhance import enhance
from graph.enhance.found import Match
from graph.relations import Kind, Relation, Source
from graph.topology import Topology, always

SIZES = ((1_000, 8_000), (10_000, 100_000))
MATCHES = 5
ROUNDS = 500
KINDS = {
    Kind.OFTEN_USED_WITH: 4.0,
    Kind.PRECEDES: 3.0,
    Kind.PROVIDES: 2.0,
    Kind.DEPENDS_ON: 0.5,
    Kind.ALTERNATIVE_TO: 0.5,
}


def main() -> None:
    """Print p50 and p95 of processor time."""
    for tools, relations in SIZES:
        for exponent, shape in ((1, "even"), (3, "hubs")):
            topology = _topology(tools, relations, exponent)
            found = _matches(tools)
            added = _timed(partial(enhance, topology), found)
            others = _timed(partial(_instead, topology), found)
            print(f"{tools:6,} tools, {relations:7,} relations, {shape}: {added}; {others}")


def _instead(topology: Topology, matches: Sequence[Match]) -> object:
    return instead.alternatives(topology, matches[0].tool, usable=always)


def _topology(tools: int, relations: int, exponent: int) -> Topology:
    draw = random.Random(0)  # noqa: S311 - no secret
    found: dict[tuple[int, int, Kind], Relation] = {}
    while len(found) < relations:
        source, target = draw.randrange(tools), int(tools * draw.random() ** exponent)
        (kind,) = draw.choices(list(KINDS), list(KINDS.values()))
        if source != target:
            found[source, target, kind] = Relation(
                source,
                target,
                kind,
                draw.random(),
                draw.random() < 0.5,
                (draw.choice(list(Source)),),
            )
    return Topology(found.values())


def _matches(tools: int) -> list[list[Match]]:
    draw = random.Random(1)  # noqa: S311 - no secret
    return [
        [
            Match(tool, 0.9 - 0.1 * place)
            for place, tool in enumerate(draw.sample(range(tools), MATCHES))
        ]
        for _ in range(ROUNDS)
    ]


def _timed(work: Callable[[list[Match]], object], found: list[list[Match]]) -> str:
    for matches in found[:50]:
        work(matches)

    def durations() -> Iterator[float]:
        for matches in found:
            started = time.thread_time()
            work(matches)
            yield 1_000 * (time.thread_time() - started)

    p50, p95 = np.percentile(list(durations()), [50, 95])
    return f"p50 {p50:.3f} ms, p95 {p95:.3f} ms"


if __name__ == "__main__":
    main()
