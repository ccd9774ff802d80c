"""Keeps the relations and metrics of a process current."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from types import MappingProxyType
from typing import Final

import django.db
import structlog

from gateway_project.foundation import garbage
from gateway_project.foundation.database import in_database
from graph.record import Metric
from graph.relations import Key, Relation
from graph.store import metrics, views
from graph.store.views import View
from graph.topology import Topology

RELATIONS: Final = "relations"
"""What stands before the keys of relations in a notification."""
RELOAD_S: Final = 3_600.0
"""Observations count the less the older they are, so everything is read again after this."""
RETRY_S: Final = 5.0
MAX_NAMED: Final = 20_000
"""Relations to bring up to date one by one; more of them are sooner read with all others."""
MANY: Final = 20_000
"""Relations that take the garbage collector tens of milliseconds to go through."""
CHUNK: Final = 500
"""Relations brought up to date at once, between which the event loop does other things."""

Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(kw_only=True, slots=True)
class _Outdated:
    """What has to be read again, and the teams whose topology has to be made."""

    everything: bool = False
    metrics: bool = False
    relations: dict[int, None] = field(default_factory=dict)
    teams: set[int] = field(default_factory=set)

    def add(self, pks: Iterable[int]) -> None:
        """Name relations; needless where everything is read, and too many are everything."""
        if self.everything:
            return
        self.relations.update(dict.fromkeys(pks))
        if len(self.relations) > MAX_NAMED:
            self.add_everything()

    def add_everything(self) -> None:
        self.everything = True
        self.relations.clear()

    def __bool__(self) -> bool:
        return self.everything or self.metrics or bool(self.relations or self.teams)


@dataclass(kw_only=True, slots=True)
class _Views:
    """The relations of one reading, kept current from then on.

    Attributes:
        shared: As callers see them whose team has observed nothing.
        read: Every stored relation by primary key, as all see it.
        own: How many relations look different to a team, since it observed something itself.
        teams: All that a team sees, where it has been made.
    """

    shared: Topology = field(default_factory=Topology)
    read: dict[int, View] = field(default_factory=dict)
    own: Counter[int] = field(default_factory=Counter)
    teams: dict[int, Topology] = field(default_factory=dict)

    def of(self, team: int | None) -> Topology | None:
        """Return what a team sees; None where that has to be made yet."""
        if team is None or team not in self.own:
            return self.shared
        return self.teams.get(team)

    def put(self, pk: int, seen: View | None) -> None:
        """Take over a relation; None: it is gone."""
        known = self.read.pop(pk, None)
        self._count(known, seen)
        if known is not None and (seen is None or seen.key != known.key):
            for topology in (self.shared, *self.teams.values()):
                topology.discard(known.key)
        if seen is None:
            return
        self.read[pk] = seen
        _place(self.shared, seen.key, seen.shared)
        for team, topology in self.teams.items():
            _place(topology, seen.key, seen.own.get(team, seen.shared))

    def _count(self, before: View | None, after: View | None) -> None:
        self.own.update(() if after is None else after.own.keys())
        self.own.subtract(() if before is None else before.own.keys())
        for team in () if before is None else before.own:
            if not self.own[team]:
                del self.own[team]
                self.teams.pop(team, None)


def _place(topology: Topology, key: Key, relation: Relation | None) -> None:
    if relation is None:
        topology.discard(key)
    else:
        topology.put(relation)


class KeptGraph:
    """The graph in force: shared knowledge, and what each team has observed beside it.

    It begins empty and is read once it is first wanted. From then on relations follow the
    database one by one as notifications name them. All methods are for one event loop.

    Args:
        clock: Tells the time that the age of observations is taken at.
    """

    def __init__(self, *, clock: Clock = _now) -> None:
        self._clock = clock
        self._views = _Views()
        self._metrics: Mapping[int, Metric] = MappingProxyType({})
        self._outdated = _Outdated(everything=True)
        self._told = asyncio.Event()
        self._wanted = asyncio.Event()
        self._reading = asyncio.Lock()

    @property
    def metrics(self) -> Mapping[int, Metric]:
        """The stored metrics, by tool."""
        return self._metrics

    def topology(self, team: int | None) -> Topology:
        """Return the relations that the callers of a team see; empty until they are read.

        What a team observed itself is missing the first time that it is asked for: copying
        100,000 relations would hold up everybody for longer than a search takes.
        """
        self._wanted.set()
        seen = self._views.of(team)
        if seen is not None:
            return seen
        if team is not None:
            self._outdated.teams.add(team)
            self._told.set()
        return self._views.shared

    def want(self) -> None:
        """Say that the graph will be asked for."""
        self._wanted.set()

    def outdate(self) -> None:
        """Take note that anything may have changed."""
        self._outdated.add_everything()
        self._told.set()

    def notice(self, payload: str) -> None:
        """Take note of what a notification says has changed."""
        kind, _, named = payload.partition(":")
        pks = named.split(",")
        if payload == metrics.NOTICE:
            self._outdated.metrics = True
        elif kind == RELATIONS and all(pk.isdecimal() for pk in pks):
            self._outdated.add(map(int, pks))
        else:
            self._outdated.add_everything()
        self._told.set()

    async def run(self) -> None:
        """Follow what is noticed, once the graph is wanted; until cancelled."""
        await self._wanted.wait()
        read_at = asyncio.get_running_loop().time()
        while True:
            self._told.clear()
            wait_s = RELOAD_S if await self.catch_up() else RETRY_S
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._told.wait()
            now = asyncio.get_running_loop().time()
            if now - read_at >= RELOAD_S:
                self._outdated.add_everything()
                read_at = now

    async def catch_up(self) -> bool:
        """Read what is outdated; what cannot be read leaves the old in force, and says so."""
        async with self._reading:
            while self._outdated:
                taken, self._outdated = self._outdated, _Outdated()
                try:
                    await self._read(taken)
                except django.db.Error as error:
                    self._restore(taken)
                    log.warning("graph.not_read", reason=str(error).strip().partition("\n")[0])
                    return False
            return True

    def _restore(self, taken: _Outdated) -> None:
        later = self._outdated
        if taken.everything:
            later.add_everything()
        later.metrics |= taken.metrics
        later.add(taken.relations)
        later.teams |= taken.teams

    async def _read(self, taken: _Outdated) -> None:
        if taken.everything:
            teams = taken.teams.union(self._views.teams)
            self._views = await in_database(_load, self._clock(), teams)
        else:
            for some in _chunks(list(taken.relations)):
                for pk, seen in (await in_database(_load_some, some, self._clock())).items():
                    self._views.put(pk, seen)
                await asyncio.sleep(0)
            await self._make(taken.teams)
        if taken.everything or taken.metrics:
            self._metrics = MappingProxyType(await in_database(metrics.load))

    async def _make(self, teams: Iterable[int]) -> None:
        """Make what teams see beside the event loop; nothing is read or put meanwhile."""
        views = self._views
        wanted = [team for team in teams if team in views.own and team not in views.teams]
        if wanted:
            made = await asyncio.to_thread(_made, list(views.read.values()), wanted)
            views.teams.update(made)


def _chunks(pks: Sequence[int]) -> Iterator[list[int]]:
    remaining = iter(pks)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def _load(now: datetime, teams: Iterable[int]) -> _Views:
    """Read all relations, and make what some teams see of them."""
    with garbage.uncollected():
        loaded = views.load(now=now)
        own = Counter(team for seen in loaded for team in seen.own)
        made = _Views(
            shared=Topology(seen.shared for seen in loaded if seen.shared is not None),
            read={seen.pk: seen for seen in loaded},
            own=own,
            teams=_made(loaded, own.keys() & set(teams)),
        )
        if len(loaded) >= MANY:
            garbage.age()
    return made


def _made(read: Iterable[View], teams: Iterable[int]) -> dict[int, Topology]:
    """Return what teams see: where they observed a relation themselves, as it looks to them."""
    return {
        team: Topology(
            relation for seen in read if (relation := seen.own.get(team, seen.shared)) is not None
        )
        for team in teams
    }


def _load_some(pks: Sequence[int], now: datetime) -> dict[int, View | None]:
    found: dict[int, View | None] = dict.fromkeys(pks)
    return found | {seen.pk: seen for seen in views.load(pks, now=now)}
