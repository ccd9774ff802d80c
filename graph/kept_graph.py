"""Keeps the relations and metrics of a process current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import django.db
import structlog

from gateway_project.foundation.database import in_database
from graph.record import Key, Metric
from graph.relations import Relation
from graph.store import metrics, views
from graph.store.views import View
from graph.topology import Topology

if TYPE_CHECKING:
    from gateway_project.foundation import notify

RELATIONS: Final = "relations"
"""What stands before the keys of relations in a notification."""
RELOAD_S: Final = 3_600.0
"""Observations count the less the older they are, so everything is read again after this."""
RETRY_S: Final = 5.0
CHUNK: Final = 500
"""Relations brought up to date at once, between which the event loop does other things."""

Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(kw_only=True, slots=True)
class _Outdated:
    """What has to be read again."""

    everything: bool = False
    metrics: bool = False
    relations: dict[int, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.everything or self.metrics or bool(self.relations)


@dataclass(kw_only=True, slots=True)
class _Views:
    """The relations of one reading, kept current from then on.

    Attributes:
        shared: As callers see them whose team has observed nothing.
        keys: Of every stored relation, by primary key.
        own: As a team sees them, where it has observed something itself; by primary key.
        teams: All that a team sees; made when it is first asked for.
    """

    shared: Topology = field(default_factory=Topology)
    keys: dict[int, Key] = field(default_factory=dict)
    own: dict[int, dict[int, Relation]] = field(default_factory=dict)
    teams: dict[int, Topology] = field(default_factory=dict)

    def of(self, team: int | None) -> Topology:
        if team is None or team not in self.own:
            return self.shared
        if team not in self.teams:
            self.teams[team] = self._made(team)
        return self.teams[team]

    def put(self, pk: int, seen: View | None) -> None:
        """Take over a relation; None: it is gone."""
        known = self.keys.get(pk)
        if known is not None and (seen is None or seen.key != known):
            self._forget(pk, known)
        if seen is None:
            return
        self.keys[pk] = seen.key
        for team in {*self.own, *seen.own}:
            self._own(team, pk, seen.own.get(team))
        _place(self.shared, seen.key, seen.shared)
        for team, topology in self.teams.items():
            _place(topology, seen.key, seen.own.get(team, seen.shared))

    def _forget(self, pk: int, key: Key) -> None:
        del self.keys[pk]
        for topology in (self.shared, *self.teams.values()):
            topology.discard(key)
        for team in list(self.own):
            self._own(team, pk, None)

    def _own(self, team: int, pk: int, relation: Relation | None) -> None:
        if relation is not None:
            self.own.setdefault(team, {})[pk] = relation
            return
        relations_of = self.own[team]
        relations_of.pop(pk, None)
        if not relations_of:
            del self.own[team]
            self.teams.pop(team, None)

    def _made(self, team: int) -> Topology:
        topology = Topology(self.shared.relations())
        for relation in self.own[team].values():
            topology.put(relation)
        return topology


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
        """Return the relations that the callers of a team see; empty until they are read."""
        self._wanted.set()
        return self._views.of(team)

    def want(self) -> None:
        """Say that the graph will be asked for."""
        self._wanted.set()

    def outdate(self) -> None:
        """Take note that anything may have changed."""
        self._outdated.everything = True
        self._told.set()

    def notice(self, payload: str) -> None:
        """Take note of what a notification says has changed."""
        kind, _, named = payload.partition(":")
        pks = named.split(",")
        if payload == metrics.NOTICE:
            self._outdated.metrics = True
        elif kind == RELATIONS and all(pk.isdecimal() for pk in pks):
            self._outdated.relations.update(dict.fromkeys(map(int, pks)))
        else:
            self._outdated.everything = True
        self._told.set()

    async def apply(self, event: notify.Event) -> None:
        """Bring up to date what a notification says has changed."""
        self.notice(event.payload)
        await self.catch_up()

    async def resync(self) -> None:
        """Read everything again."""
        self.outdate()
        await self.catch_up()

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
                self._outdated.everything, read_at = True, now

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
        later.everything |= taken.everything
        later.metrics |= taken.metrics
        later.relations = taken.relations | later.relations

    async def _read(self, taken: _Outdated) -> None:
        if taken.everything:
            self._views = await in_database(_load, self._clock(), list(self._views.teams))
        else:
            for some in _chunks(list(taken.relations)):
                for pk, seen in (await in_database(_load_some, some, self._clock())).items():
                    self._views.put(pk, seen)
                await asyncio.sleep(0)
        if taken.everything or taken.metrics:
            self._metrics = MappingProxyType(await in_database(metrics.load))


def _chunks(pks: Sequence[int]) -> Iterator[list[int]]:
    remaining = iter(pks)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def _load(now: datetime, teams: Sequence[int]) -> _Views:
    """Read all relations; what some teams see of them is made at once."""
    loaded = views.load(now=now)
    made = _Views(
        shared=Topology(seen.shared for seen in loaded if seen.shared is not None),
        keys={seen.pk: seen.key for seen in loaded},
    )
    for seen in loaded:
        for team, relation in seen.own.items():
            made.own.setdefault(team, {})[seen.pk] = relation
    for team in teams:
        made.of(team)
    return made


def _load_some(pks: Sequence[int], now: datetime) -> dict[int, View | None]:
    found: dict[int, View | None] = dict.fromkeys(pks)
    return found | {seen.pk: seen for seen in views.load(pks, now=now)}
