"""Reloads result roots that are not in memory, in batches of limited size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final
from uuid import UUID

from execution.changes import TaskKey
from execution.run_dependencies import retry_until_available
from execution.running import result_cache
from execution.running.in_flight import load_roots
from execution.running.results import ResultRoot
from execution.store import payloads
from gateway_project.foundation.sealing import Sealer

BATCH_BYTES: Final = 16 * 1024 * 1024
"""JSON bytes loaded together, except for a single larger result; whole before it is reduced."""


async def load_result_roots(
    run: UUID, tasks: Collection[str], *, sealer: Sealer
) -> Mapping[TaskKey, ResultRoot]:
    """Return the result roots of tasks, items included.

    A task whose results do not fit is loaded no further: a root with an excessive size marks it as
    too large.

    Raises:
        UnsealingFailed: If no key opens a result.
    """
    found: dict[TaskKey, ResultRoot] = {}
    sizes: Counter[str] = Counter()
    too_large: set[str] = set()
    waiting = await retry_until_available(payloads.load_result_sizes, run, tasks)
    while waiting := [entry for entry in waiting if entry[0][0] not in too_large]:
        batch = _select_batch(waiting)
        del waiting[: len(batch)]
        raw_results = await retry_until_available(payloads.load_results, run, batch, sealer=sealer)
        for key, root in (await load_roots(raw_results)).items():
            task = key[0]
            if task in too_large:
                continue
            sizes[task] += root.size_bytes
            found[key] = root
            if sizes.total() > result_cache.MAX_BYTES:
                too_large.add(task)
                del sizes[task]
                found = {other: entry for other, entry in found.items() if other[0] != task}
                found[key] = ResultRoot(None, result_cache.MAX_BYTES + 1)
    return found


def _select_batch(waiting: list[tuple[TaskKey, int]]) -> list[TaskKey]:
    """Return the first keys whose results fit a batch; at least one."""
    size = 0
    for number, (_, result_bytes) in enumerate(waiting):
        size += result_bytes
        if size > BATCH_BYTES and number:
            return [key for key, _ in waiting[:number]]
    return [key for key, _ in waiting]
