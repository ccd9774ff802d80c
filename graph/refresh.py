"""Brings what is derived and computed up to date: data flow, shipped relations, metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.db import transaction

from gateway_project.foundation import advisory
from graph.record import Metric
from graph.relations import Source
from graph.snapshots import content
from graph.store import metrics, names, relations, shapes, snapshots, state, writing
from graph.store.relations import Changes
from graph.topology import Topology
from tools.store import catalogue as catalogue_store

LOCK: Final = "graph refresh"
DERIVED_BY: Final = 2
"""Version of the rules that relations are derived by; another one has all derived anew."""
COMPUTED_BY: Final = 1
"""Version of what is computed of the relations, likewise."""
SNAPSHOT_EVERY: Final = timedelta(days=1)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """What a refresh did.

    Attributes:
        is_busy: Whether another process is at it, so that nothing was done.
        derived: Changes of derived and shipped relations; None: nothing they come from changed.
        swept: Relations deleted because nothing speaks for them any more.
        computed: Whether metrics were computed; else the relations are as they were.
        snapshot: Primary key of the snapshot taken; None: none was due.
        duration_s: Seconds it took.
    """

    is_busy: bool = False
    derived: Changes | None = None
    swept: int = 0
    computed: bool = False
    snapshot: int | None = None
    duration_s: float = 0.0


def is_due(*, now: datetime) -> bool:
    """Say whether a refresh would derive or compute anything; a few queries, nothing heavy."""
    return is_outdated(now=now) or _is_snapshot_due(now, state.load().computed_from)


def is_outdated(*, now: datetime) -> bool:
    """Say whether anything that relations and metrics come from has changed since."""
    known = state.load()
    return known.derived_from != _inputs() or known.computed_from != _relations(now)


def refresh(
    *, now: datetime, force: bool = False, snapshot: str | None = None, wait_s: float = 30.0
) -> Refreshed:
    """Derive and compute what has changed since the last time; one process at a time.

    Each of derived relations, metrics and snapshot is one transaction, so that a process that is
    killed leaves what was or what is to be. Where nothing changed nothing is written.

    Args:
        now: Time that the age of observations is taken at.
        force: Derive and compute also where nothing has changed.
        snapshot: Take a snapshot for this reason, whenever the last one was.
        wait_s: How long to wait for another process that is at it.
    """
    started = time.perf_counter()
    with advisory.claimed(LOCK, wait_s=wait_s) as is_ours:
        if not is_ours:
            return Refreshed(is_busy=True, duration_s=time.perf_counter() - started)
        swept = writing.retried(relations.sweep)
        derived = _derive(now, force=force)
        computed = _compute(now, force=force)
        taken = _snapshot(now, reason=snapshot)
    done = Refreshed(
        derived=derived,
        swept=swept,
        computed=computed,
        snapshot=taken,
        duration_s=time.perf_counter() - started,
    )
    log.debug("graph.refreshed", computed=computed, duration_s=round(done.duration_s, 3))
    return done


def _inputs() -> str:
    return f"{DERIVED_BY}.{state.inputs()}"


def _relations(now: datetime) -> str:
    return f"{COMPUTED_BY}.{state.shared_relations(now)}"


def _derive(now: datetime, *, force: bool) -> Changes | None:
    """Derive relations from schemas and shapes, and take over those that are shipped."""
    known_version, version = state.load().derived_from, _inputs()
    if version == known_version and not force:
        return None
    from graph import shipped  # noqa: PLC0415 - only where something has changed
    from graph.data_flow import seen  # noqa: PLC0415 - likewise

    catalogue, told = catalogue_store.load(), shapes.load()
    tools = catalogue.tools.values()
    flows, known = seen.shared(tools, told), shipped.matching(catalogue)
    # What a team's calls have shown of a shared tool is that team's alone.
    besides = seen.besides(tools, told, flows)

    def store() -> Changes:
        with transaction.atomic():
            derived = relations.replace_derived(flows, at=now)
            derived += relations.replace_derived_of_teams(besides, at=now)
            taken_over = relations.replace_derived(
                known, at=now, source=Source.CURATED, origin=shipped.ORIGIN
            )
            state.note_derived(version, at=now, since=known_version)
        return derived + taken_over

    return writing.retried(store)


def _compute(now: datetime, *, force: bool) -> bool:
    """Compute the metrics of the shared graph, starting from what they were."""
    version = _relations(now)
    if version == state.load().computed_from and not force:
        return False
    computed, statistics = _measure(relations.topology(now=now))

    def store() -> None:
        with transaction.atomic():
            metrics.replace(computed)
            state.note_computed(version, at=now, statistics=statistics)

    writing.retried(store)
    return True


def _measure(topology: Topology) -> tuple[Mapping[int, Metric], Mapping[str, Any]]:
    if not len(topology):
        return {}, {}
    from graph import measure  # noqa: PLC0415 - heavy

    measured = measure.measure(topology, known=metrics.load())
    return measured.metrics, measured.statistics


def _is_snapshot_due(now: datetime, version: str) -> bool:
    last = snapshots.last(snapshots.SCHEDULED)
    if last is None:
        return relations.exist()
    return now - last.taken_at >= SNAPSHOT_EVERY and last.digest != version


def _snapshot(now: datetime, *, reason: str | None) -> int | None:
    """Take a snapshot if it is asked for, or due: a day after the last, if anything changed."""
    known = state.load()
    if reason is None and not _is_snapshot_due(now, known.computed_from):
        return None
    topology, computed = relations.topology(now=now), metrics.load()
    called = names.tools(topology.tools() | computed.keys())
    return snapshots.take(
        content(topology, computed, names=called),
        digest=known.computed_from,
        statistics=known.statistics,
        reason=reason or snapshots.SCHEDULED,
        at=now,
    )
