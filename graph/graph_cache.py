"""Keeps the relations and metrics in a process's memory current."""

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
from gateway_project.foundation.database import run_in_database_thread
from graph.record import GraphMetric
from graph.relations import Relation, RelationKey
from graph.store import metrics, views
from graph.store.views import RelationView
from graph.topology import Topology

RELATIONS_NOTICE: Final = "relations"
"""Prefix of a notification that lists keys of relations."""
RELOAD_S: Final = 3_600.0
"""Interval of full reloads: the weight of observations decays with their age."""
RETRY_S: Final = 5.0
MAX_INCREMENTAL: Final = 20_000
"""Relations reloaded one by one; beyond this a full reload is faster."""
GARBAGE_AGING_THRESHOLD: Final = 20_000
"""Relations from which a garbage collection takes tens of milliseconds."""
CHUNK_SIZE: Final = 500
"""Relations reloaded per query; the event loop runs between chunks."""

Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(kw_only=True, slots=True)
class _StaleParts:
    """What has to be reloaded, and the teams whose topology has to be built."""

    everything: bool = False
    metrics: bool = False
    relations: dict[int, None] = field(default_factory=dict)
    rebuild_teams: set[int] = field(default_factory=set)

    def add_relations(self, pks: Iterable[int]) -> None:
        """Mark relations; past `MAX_INCREMENTAL` everything is marked instead."""
        if self.everything:
            return
        self.relations.update(dict.fromkeys(pks))
        if len(self.relations) > MAX_INCREMENTAL:
            self.mark_everything()

    def mark_everything(self) -> None:
        self.everything = True
        self.relations.clear()

    def __bool__(self) -> bool:
        return self.everything or self.metrics or bool(self.relations or self.rebuild_teams)


@dataclass(kw_only=True, slots=True)
class _RelationViews:
    """The relations of one full load, kept current from then on.

    Attributes:
        shared: Current topology for callers whose team has no evidence of its own.
        views_by_pk: Every stored relation by primary key.
        team_relation_counts: By team, the number of relations that its own evidence changes.
        team_topologies: Current topologies of teams with evidence of their own, built on demand.
    """

    shared: Topology = field(default_factory=Topology)
    views_by_pk: dict[int, RelationView] = field(default_factory=dict)
    team_relation_counts: Counter[int] = field(default_factory=Counter)
    team_topologies: dict[int, Topology] = field(default_factory=dict)

    def topology_of(self, team: int | None) -> Topology | None:
        """Return the topology that a team sees; None: not built yet."""
        if team is None or team not in self.team_relation_counts:
            return self.shared
        return self.team_topologies.get(team)

    def put_relations(self, reloaded: Mapping[int, RelationView | None]) -> None:
        """Put the current views of some relations; None: deleted."""
        changed: dict[RelationKey, RelationView | None] = {}
        for pk, view in reloaded.items():
            previous = self.views_by_pk.pop(pk, None)
            self._count_team_relations(previous, view)
            if previous is not None:
                changed.setdefault(previous.key, None)
            if view is not None:
                self.views_by_pk[pk] = changed[view.key] = view
        self.shared = self.shared.with_changes(_relations_seen(changed, None))
        for team, topology in self.team_topologies.items():
            self.team_topologies[team] = topology.with_changes(_relations_seen(changed, team))

    def _count_team_relations(
        self, before: RelationView | None, after: RelationView | None
    ) -> None:
        self.team_relation_counts.update(() if after is None else after.team_relations.keys())
        self.team_relation_counts.subtract(() if before is None else before.team_relations.keys())
        for team in () if before is None else before.team_relations:
            if not self.team_relation_counts[team]:
                del self.team_relation_counts[team]
                self.team_topologies.pop(team, None)


def _relations_seen(
    changed: Mapping[RelationKey, RelationView | None], team: int | None
) -> dict[RelationKey, Relation | None]:
    return {key: view and view.seen_by(team) for key, view in changed.items()}


class GraphCache:
    """The current graph: shared relations, and what each team has observed itself.

    It starts empty and is loaded on first use. From then on single relations are reloaded as
    notifications name them. All methods are for one event loop; the topologies and metrics they
    return never change and may be read from any thread.
    """

    def __init__(self, *, clock: Clock = _utc_now) -> None:
        self._clock = clock
        self._views = _RelationViews()
        self._metrics: Mapping[int, GraphMetric] = MappingProxyType({})
        self._stale = _StaleParts(everything=True)
        self._marked = asyncio.Event()
        self._requested = asyncio.Event()
        self._reload_lock = asyncio.Lock()

    @property
    def metrics(self) -> Mapping[int, GraphMetric]:
        """The stored metrics, by tool."""
        return self._metrics

    def topology(self, team: int | None) -> Topology:
        """Return the relations that the callers of a team see; empty until loaded.

        A team's own observations are missing from its first call: copying 100,000 relations would
        block the event loop for longer than a search takes.
        """
        self._requested.set()
        topology = self._views.topology_of(team)
        if topology is not None:
            return topology
        if team is not None:
            self._stale.rebuild_teams.add(team)
            self._marked.set()
        return self._views.shared

    def request_loading(self) -> None:
        """Have the graph loaded soon."""
        self._requested.set()

    def invalidate(self) -> None:
        """Mark everything as stale."""
        self._stale.mark_everything()
        self._marked.set()

    def handle_notification(self, payload: str) -> None:
        """Mark as stale what a notification says has changed."""
        kind, _, keys = payload.partition(":")
        pks = keys.split(",")
        if payload == metrics.CHANGE_NOTICE:
            self._stale.metrics = True
        elif kind == RELATIONS_NOTICE and all(pk.isdecimal() for pk in pks):
            self._stale.add_relations(map(int, pks))
        else:
            self._stale.mark_everything()
        self._marked.set()

    async def run(self) -> None:
        """Reload what becomes stale, from the first use of the graph on; until cancelled."""
        await self._requested.wait()
        reloaded_at = asyncio.get_running_loop().time()
        while True:
            self._marked.clear()
            wait_s = RELOAD_S if await self.reload_stale() else RETRY_S
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._marked.wait()
            now = asyncio.get_running_loop().time()
            if now - reloaded_at >= RELOAD_S:
                self._stale.mark_everything()
                reloaded_at = now

    async def reload_stale(self) -> bool:
        """Reload what is stale; on a database error keep the old state, log and return False."""
        async with self._reload_lock:
            while self._stale:
                stale, self._stale = self._stale, _StaleParts()
                try:
                    await self._reload(stale)
                except django.db.Error as error:
                    self._restore_stale_parts(stale)
                    log.warning("graph.load_failed", reason=str(error).strip().partition("\n")[0])
                    return False
            return True

    def _restore_stale_parts(self, stale: _StaleParts) -> None:
        current = self._stale
        if stale.everything:
            current.mark_everything()
        current.metrics |= stale.metrics
        current.add_relations(stale.relations)
        current.rebuild_teams |= stale.rebuild_teams

    async def _reload(self, stale: _StaleParts) -> None:
        if stale.everything:
            teams = stale.rebuild_teams.union(self._views.team_topologies)
            self._views = await run_in_database_thread(_load_views, self._clock(), teams)
        else:
            for chunk in _split_chunks(list(stale.relations)):
                self._views.put_relations(
                    await run_in_database_thread(_reload_relations, chunk, self._clock())
                )
            await self._build_team_topologies(stale.rebuild_teams)
        if stale.everything or stale.metrics:
            self._metrics = MappingProxyType(await run_in_database_thread(metrics.load_metrics))

    async def _build_team_topologies(self, teams: Iterable[int]) -> None:
        """Build topologies in a thread; `_reload_lock` keeps the relations unchanged meanwhile."""
        views = self._views
        missing = [
            team
            for team in teams
            if team in views.team_relation_counts and team not in views.team_topologies
        ]
        if missing:
            built = await asyncio.to_thread(
                _build_topologies, views.shared, list(views.views_by_pk.values()), missing
            )
            views.team_topologies.update(built)


def _split_chunks(pks: Sequence[int]) -> Iterator[list[int]]:
    remaining = iter(pks)
    while chunk := list(islice(remaining, CHUNK_SIZE)):
        yield chunk


def _load_views(now: datetime, teams: Iterable[int]) -> _RelationViews:
    """Load all relations, and build the topologies of some teams."""
    with garbage.pause_collection():
        loaded = views.load_views(now=now)
        team_counts = Counter(team for view in loaded for team in view.team_relations)
        shared = Topology(view.shared for view in loaded if view.shared is not None)
        built = _RelationViews(
            shared=shared,
            views_by_pk={view.pk: view for view in loaded},
            team_relation_counts=team_counts,
            team_topologies=_build_topologies(shared, loaded, team_counts.keys() & set(teams)),
        )
        if len(loaded) >= GARBAGE_AGING_THRESHOLD:
            garbage.LONG_LIVED.add_all()
    return built


def _build_topologies(
    shared: Topology, loaded: Sequence[RelationView], teams: Iterable[int]
) -> dict[int, Topology]:
    """Build the topologies of teams: shared relations, overridden by their own views.

    Each shares what the team's own evidence does not change with that of all.
    """
    return {
        team: shared.with_changes(
            {view.key: view.seen_by(team) for view in loaded if team in view.team_relations}
        )
        for team in teams
    }


def _reload_relations(pks: Sequence[int], now: datetime) -> dict[int, RelationView | None]:
    reloaded: dict[int, RelationView | None] = dict.fromkeys(pks)
    return reloaded | {view.pk: view for view in views.load_views(pks, now=now)}
