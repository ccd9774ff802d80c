"""What an attack costs the gateway and whoever calls another server meanwhile."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.journeys.hostile.faces import Gateway, Outcome

MIB = 1024 * 1024
ENOUGH_CALLS = 60
CALLS_BETWEEN = 10
SAMPLED_EVERY_S = 0.01
SHORTER_S = 1.0
"""Below that, a percentile says more of the machine than of the gateway; benchmarks/loop_stalls
measures what an attack costs others to the millisecond."""
REPORT = "FOREGATE_HOSTILE_REPORT"
"""Variable that names a file for the figures."""


@dataclass(frozen=True, kw_only=True)
class Siege:
    """What was seen.

    Attributes:
        outcomes: Of the attacks, in order.
        took_s: How long the first took.
        grew_mib: How much larger the gateway's memory was at its largest than before.
        alone_p95_s: 95th percentile of the healthy server's calls before.
        p95_s: The same during the attack.
        worst_s: The longest of these.
    """

    outcomes: Sequence[Outcome]
    took_s: float
    grew_mib: float
    alone_p95_s: float
    p95_s: float
    worst_s: float

    @property
    def slowed_down(self) -> bool:
        """Whether the healthy server's calls took more than twice their time."""
        return self.p95_s >= max(2 * self.alone_p95_s, SHORTER_S)

    def report(self, what: str) -> None:
        """Write the figures to a file, for documentation."""
        if path := os.environ.get(REPORT):
            codes = ", ".join(dict.fromkeys(outcome.code for outcome in self.outcomes))
            with Path(path).open("a") as file:
                file.write(
                    f"{what} | {codes} ({len(self.outcomes)}) | {self.took_s:.2f} s | "
                    f"{self.grew_mib:.0f} MiB | {1e3 * self.p95_s:.1f} / "
                    f"{1e3 * self.alone_p95_s:.1f} ms, worst {1e3 * self.worst_s:.0f} ms\n"
                )


async def besiege(gateway: Gateway, attack: Callable[[], Awaitable[Outcome]]) -> Siege:
    """Attack again and again while a healthy server is called without pause.

    A short attack is repeated until there are enough calls to judge by.
    """
    outcomes: list[Outcome] = []
    durations: list[float] = []

    async def timed() -> None:
        began = time.perf_counter()
        outcomes.append(await attack())
        durations.append(time.perf_counter() - began)

    alone = [await _healthy(gateway) for _ in range(ENOUGH_CALLS)]
    during: list[float] = []
    with _memory(gateway.pid) as sizes:
        async with asyncio.TaskGroup() as group:
            attacking = group.create_task(timed())
            while len(during) < ENOUGH_CALLS or not attacking.done():
                during.append(await _healthy(gateway))
                if attacking.done() and len(during) % CALLS_BETWEEN == 0:
                    attacking = group.create_task(timed())
    return Siege(
        outcomes=outcomes,
        took_s=durations[0],
        grew_mib=(max(sizes) - sizes[0]) / MIB,
        alone_p95_s=_p95(alone),
        p95_s=_p95(during),
        worst_s=max(during),
    )


async def _healthy(gateway: Gateway) -> float:
    began = time.perf_counter()
    outcome = await gateway.call("healthy:echo", {"text": "well"})
    assert outcome == Outcome(code="", text="well")
    return time.perf_counter() - began


def _p95(durations: Sequence[float]) -> float:
    return sorted(durations)[int(0.95 * len(durations))]


@contextmanager
def _memory(pid: int) -> Iterator[list[int]]:
    """Note how large a process is, from now on, in a thread that no answer holds up."""
    process, over = psutil.Process(pid), threading.Event()
    sizes = [process.memory_info().rss]

    def sample() -> None:
        while not over.wait(SAMPLED_EVERY_S):
            sizes.append(process.memory_info().rss)

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield sizes
    finally:
        over.set()
        sampler.join()
