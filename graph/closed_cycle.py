"""Tell a person that a dependency closes a cycle, and which of its edges will not count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from graph import record, wording
from graph.algorithms.shortest_path import shortest_path
from graph.contradictions import dropped
from graph.store import dependencies, names
from graph.topology import Topology


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedCycle:
    """A shortest cycle through a dependency.

    Attributes:
        tools: Canonical ids, each requiring the next, the first one again at the end.
        dropped: Dependencies on it that orders leave out, in words; the weakest.
    """

    tools: tuple[str, ...]
    dropped: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"This closes a cycle of dependencies: {' → '.join(self.tools)}. To run them at all, "
            f"the weakest is left out: “{'”, “'.join(self.dropped)}”."
        )


def closed_by(source: int, target: int, *, now: datetime) -> ClosedCycle | None:
    """Return the cycle that a stored dependency closes; None if it closes none.

    Args:
        source: Tool that requires.
        target: Tool that is required.
        now: Time that the age of observations is taken at.
    """
    records = dependencies.reached(source)
    seen = [record.view(one, None, now=now) for one in records]
    shared = [relation for relation in seen if relation is not None]
    topology = Topology(shared)
    back = shortest_path(topology, target, source)
    if back is None:
        return None
    around = (source, *back)
    called = names.of(records)
    on_it = set(pairwise(around))
    cuts = [cut for cut in dropped(shared) if (cut.source, cut.target) in on_it]
    return ClosedCycle(
        tools=tuple(called[tool] for tool in around),
        dropped=tuple(wording.sentence(cut, called.__getitem__) for cut in cuts),
    )
