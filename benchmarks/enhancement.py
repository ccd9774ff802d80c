"""Times the graph's part of a search, and of the description of a tool.

    python -m benchmarks.enhancement

Random graphs of two sizes and two shapes. In one shape, the targets of relations are drawn evenly;
in the other, few tools are the target of very many relations, as a login is.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from graph.enhance import alternatives
from graph.enhance.answer import SearchMatch
from graph.enhance.enhance import enhance_matches
from graph.relations import EvidenceSource, Relation, RelationKind
from graph.topology import Topology, accept_every_tool

SIZES = ((1_000, 8_000), (10_000, 100_000))
MATCHES = 5
ROUNDS = 500
KINDS = {
    RelationKind.OFTEN_USED_WITH: 4.0,
    RelationKind.PRECEDES: 3.0,
    RelationKind.PROVIDES: 2.0,
    RelationKind.DEPENDS_ON: 0.5,
    RelationKind.ALTERNATIVE_TO: 0.5,
}


def main() -> None:
    """Print p50 and p95 of processor time."""
    for tools, relations in SIZES:
        for exponent, shape in ((1, "even"), (3, "hubs")):
            topology = _draw_topology(tools, relations, exponent)
            found = _draw_matches(tools)
            added = _measure(partial(enhance_matches, topology), found)
            others = _measure(partial(_find_alternatives, topology), found)
            print(f"{tools:6,} tools, {relations:7,} relations, {shape}: {added}; {others}")


def _find_alternatives(topology: Topology, matches: Sequence[SearchMatch]) -> object:
    return alternatives.find_alternatives(topology, matches[0].tool, usable=accept_every_tool)


def _draw_topology(tools: int, relations: int, exponent: int) -> Topology:
    draw = random.Random(0)  # noqa: S311 - no secret
    found: dict[tuple[int, int, RelationKind], Relation] = {}
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
                (draw.choice(list(EvidenceSource)),),
            )
    return Topology(found.values())


def _draw_matches(tools: int) -> list[list[SearchMatch]]:
    draw = random.Random(1)  # noqa: S311 - no secret
    return [
        [
            SearchMatch(tool, 0.9 - 0.1 * place)
            for place, tool in enumerate(draw.sample(range(tools), MATCHES))
        ]
        for _ in range(ROUNDS)
    ]


def _measure(work: Callable[[list[SearchMatch]], object], found: list[list[SearchMatch]]) -> str:
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
