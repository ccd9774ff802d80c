"""Refresh the graph: derived data flow, shipped relations, metrics and snapshots."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.db import transaction

from gateway_project.foundation import advisory
from graph.record import GraphMetric
from graph.relations import EvidenceSource
from graph.snapshots import snapshot_content
from graph.store import metrics, names, relations, shapes, snapshots, state, writing
from graph.store.relations import RelationChanges
from graph.topology import Topology
from tools.store import catalogue as catalogue_store

LOCK_NAME: Final = "graph refresh"
DERIVATION_VERSION: Final = 3
"""Version of the derivation rules; a change forces a new derivation."""
COMPUTATION_VERSION: Final = 1
"""Version of the computation of metrics, likewise."""
SNAPSHOT_INTERVAL: Final = timedelta(days=1)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class RefreshResult:
    """What a refresh did.

    Attributes:
        is_busy: Whether nothing was done because another process is refreshing.
        derived: Changes of derived and shipped relations; None: their inputs had not changed.
        deleted_relations: Number of relations deleted for lack of evidence.
        computed: Whether metrics were computed, because relations had changed.
        snapshot: Primary key of the snapshot taken; None: none was due.
    """

    is_busy: bool = False
    derived: RelationChanges | None = None
    deleted_relations: int = 0
    computed: bool = False
    snapshot: int | None = None
    duration_s: float = 0.0


def is_due(*, now: datetime) -> bool:
    """Return whether a refresh would do anything; a few cheap queries."""
    return is_outdated(now=now) or _is_snapshot_due(now, state.load_state().computed_from)


def is_outdated(*, now: datetime) -> bool:
    """Return whether the inputs of relations or metrics have changed since the last refresh."""
    stored = state.load_state()
    return stored.derived_from != _inputs_version() or stored.computed_from != _relations_version(
        now
    )


def refresh_graph(
    *, now: datetime, snapshot: str | None = None, wait_s: float = 30.0
) -> RefreshResult:
    """Derive relations and compute metrics where inputs have changed; one process at a time.

    Derived relations, metrics and snapshot are one transaction each, so a killed process leaves
    either the old or the new state. Nothing is written if nothing changed.

    Args:
        now: Time that the age of observations is measured at.
        snapshot: Take a snapshot with this reason, even if none is due.
        wait_s: How long to wait for another process to finish its refresh.
    """
    started = time.perf_counter()
    with advisory.try_lock(LOCK_NAME, wait_s=wait_s) as is_ours:
        if not is_ours:
            return RefreshResult(is_busy=True, duration_s=time.perf_counter() - started)
        deleted = writing.retry_on_conflict(relations.delete_unsupported)
        derived = _derive_relations(now)
        computed = _compute_metrics(now)
        snapshot_pk = _store_due_snapshot(now, reason=snapshot)
    result = RefreshResult(
        derived=derived,
        deleted_relations=deleted,
        computed=computed,
        snapshot=snapshot_pk,
        duration_s=time.perf_counter() - started,
    )
    log.debug("graph.refreshed", computed=computed, duration_s=round(result.duration_s, 3))
    return result


def _inputs_version() -> str:
    return f"{DERIVATION_VERSION}.{state.inputs_version()}"


def _relations_version(now: datetime) -> str:
    return f"{COMPUTATION_VERSION}.{state.shared_relations_version(now)}"


def _derive_relations(now: datetime) -> RelationChanges | None:
    """Derive relations from schemas and shapes, and store the shipped ones."""
    previous_version, version = state.load_state().derived_from, _inputs_version()
    if version == previous_version:
        return None
    from graph import shipped  # noqa: PLC0415 - only if something has changed
    from graph.data_flow import observed  # noqa: PLC0415 - likewise

    catalogue, observed_shapes = catalogue_store.load_catalogue(), shapes.load_shapes()
    tools = catalogue.tools.values()
    shipped_claims = shipped.find_shipped_relations(catalogue)
    flows = observed.derive_shared(tools, observed_shapes)
    # What only a team's own calls have shown of a shared tool stays private to the team.
    team_flows = observed.derive_for_team(tools, observed_shapes, flows)

    def store_relations() -> RelationChanges:
        with transaction.atomic():
            derived = relations.replace_derived(flows, at=now)
            derived += relations.replace_derived_of_teams(team_flows, at=now)
            stored_shipped = relations.replace_derived(
                shipped_claims, at=now, source=EvidenceSource.CURATED, origin=shipped.ORIGIN
            )
            state.record_derived(version, at=now, since=previous_version)
        return derived + stored_shipped

    return writing.retry_on_conflict(store_relations)


def _compute_metrics(now: datetime) -> bool:
    version = _relations_version(now)
    if version == state.load_state().computed_from:
        return False
    computed, statistics = _measure_topology(relations.load_topology(now=now))

    def store() -> None:
        with transaction.atomic():
            metrics.replace_metrics(computed)
            state.record_computed(version, at=now, statistics=statistics)

    writing.retry_on_conflict(store)
    return True


def _measure_topology(topology: Topology) -> tuple[Mapping[int, GraphMetric], Mapping[str, Any]]:
    if not len(topology):
        return {}, {}
    from graph import measure  # noqa: PLC0415 - heavy

    return measure.measure_topology(topology, known=metrics.load_metrics())


def _is_snapshot_due(now: datetime, version: str) -> bool:
    last = snapshots.load_newest_scheduled()
    if last is None:
        return relations.has_relations()
    return now - last.taken_at >= SNAPSHOT_INTERVAL and last.digest != version


def _store_due_snapshot(now: datetime, *, reason: str | None) -> int | None:
    stored = state.load_state()
    if reason is None and not _is_snapshot_due(now, stored.computed_from):
        return None
    topology, computed = relations.load_topology(now=now), metrics.load_metrics()
    tool_ids = names.load_ids(topology.collect_tools() | computed.keys())
    return snapshots.store_snapshot(
        snapshot_content(topology, computed, names=tool_ids),
        digest=stored.computed_from,
        statistics=stored.statistics,
        reason=reason or snapshots.SCHEDULED_REASON,
        at=now,
    )
