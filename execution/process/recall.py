"""Brings back what references see of results that are not in memory, never too much at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final
from uuid import UUID

from execution.run_means import at_last
from execution.running import result_cache
from execution.running.in_flight import roots_of
from execution.running.results import Root
from execution.running.standing import Place
from execution.store import payloads
from gateway_project.foundation.sealing import Sealer

PART_BYTES: Final = 16 * 1024 * 1024
"""JSON that is read together, but for a single larger result: whole, before it is cut down."""


async def roots(run: UUID, tasks: Collection[str], *, sealer: Sealer) -> Mapping[Place, Root]:
    """Return what references see of the results of tasks, items included.

    A task of which there is no room for all is read no further: what is returned of it says that
    it is too large, by its size.

    Raises:
        SealBroken: If no key opens one.
    """
    found: dict[Place, Root] = {}
    sizes: Counter[str] = Counter()
    too_large: set[str] = set()
    waiting = await at_last(payloads.result_sizes, run, tasks)
    while waiting := [one for one in waiting if one[0][0] not in too_large]:
        part = _part(waiting)
        del waiting[: len(part)]
        read = await at_last(payloads.results, run, part, sealer=sealer)
        for place, root in (await roots_of(read)).items():
            task = place[0]
            if task in too_large:
                continue
            sizes[task] += root.size
            found[place] = root
            if sizes.total() > result_cache.MAX_BYTES:
                too_large.add(task)
                del sizes[task]
                found = {other: one for other, one in found.items() if other[0] != task}
                found[place] = Root(None, result_cache.MAX_BYTES + 1)
    return found


def _part(waiting: list[tuple[Place, int]]) -> list[Place]:
    """Return the first places whose results are small enough together; at least one."""
    size = 0
    for number, (_, its) in enumerate(waiting):
        size += its
        if size > PART_BYTES and number:
            return [place for place, _ in waiting[:number]]
    return [place for place, _ in waiting]
