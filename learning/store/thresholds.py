"""Stores thresholds of speculation, recomputed from resolved predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from gateway_project.foundation import notify
from learning.memory.context import ContextKey
from learning.models import AdaptiveThreshold, ThresholdChange
from learning.prediction import ResolvedPrediction
from learning.thresholds.in_force import StoredThreshold, ThresholdScope
from learning.thresholds.named import ThresholdPolicy
from learning.thresholds.policy import (
    ANY_CONTEXT,
    ANY_DOMAIN,
    DEFAULT_PRESET,
    EvidenceLevel,
    Presets,
    ThresholdEstimate,
)

MAX_RESOLVED: Final = 2_000
"""Newest resolved predictions of a team that its thresholds are computed from."""
MAX_CONTEXTS: Final = 100
"""Most recent contexts recomputed at once; the others lean on what has been stored."""
MIN_MOVE: Final = 0.005
"""Smaller moves of a threshold are not stored."""
MAX_LOADED: Final = 50_000
"""Thresholds held in memory; the newest."""
_DIGITS: Final = 4
_EXACT: Final = 1e-9

SealedContexts = dict[int, str]
NO_NAMES: Final[SealedContexts] = {}
LoadResolved = Callable[..., Sequence[ResolvedPrediction]]
"""Returns a team's resolved predictions, oldest first: `load(team, limit=N)`."""

# Two processes that resolve predictions of a team at once take turns.
_LOCK = (
    "SELECT pg_advisory_xact_lock(hashtextextended('thresholds ' || coalesce(%s::text, ''), 0))"
)


@dataclass(frozen=True, kw_only=True)
class ThresholdRules:
    """What thresholds are computed by."""

    policy: ThresholdPolicy
    presets: Presets
    load_resolved: LoadResolved


def record_resolved(
    resolved: Iterable[ResolvedPrediction], *, rules: ThresholdRules, at: datetime
) -> None:
    """Recompute the thresholds that newly resolved predictions concern.

    Idempotent: thresholds follow from the stored predictions, among which these must be already.
    Joins the caller's transaction.
    """
    domains: dict[int | None, set[int]] = {}
    names: SealedContexts = {}
    for one in resolved:
        domains.setdefault(one.team, set()).add(one.context.domain)
        for key in (one.context.domain, one.context.context):
            names[key] = one.context_sealed or names.get(key, "")
    for team in sorted(domains, key=lambda pk: (pk is not None, pk)):
        recompute_thresholds(team, rules=rules, at=at, domains=domains[team], names=names)


def recompute_thresholds(
    team: int | None,
    *,
    rules: ThresholdRules,
    at: datetime,
    domains: set[int] | None = None,
    names: SealedContexts = NO_NAMES,
) -> None:
    """Recompute the thresholds of a team, in general, by domain and by context.

    Args:
        team: Primary key; None: callers without a team.
        rules: Policy, presets and history.
        at: Current time.
        domains: Only those of these domains, and the general one; None: all.
        names: Contexts by the hash of their domain or of their own, sealed.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [team])
        history = rules.load_resolved(team, limit=MAX_RESOLVED)
        tracker = rules.policy.start(rules.presets)
        for one in history:
            tracker.observe(one)
        scopes = _list_scopes(team, history, domains)
        estimates = {scope: tracker.estimate(_to_key(scope)) for scope in scopes}
        if _store_estimates(team, estimates, rules=rules, at=at, names=names):
            notify.send_notification(notify.THRESHOLDS, "")


def preset_threshold(
    team: int | None,
    key: ContextKey,
    *,
    is_domain: bool,
    context_sealed: str,
    at: datetime,
) -> int:
    """Store a threshold for work that nothing is known of yet; return its primary key.

    One that exists stays as it is.
    """
    context_hash = None if is_domain else key.context
    rows = AdaptiveThreshold.objects.filter(team=team, domain_hash=key.domain)
    row = rows.filter(context_hash=context_hash).first() or AdaptiveThreshold.objects.create(
        team_id=team,
        domain_hash=key.domain,
        context_hash=context_hash,
        context_sealed=context_sealed,
        policy="",
        threshold=DEFAULT_PRESET.initial,
        level=EvidenceLevel.NONE.value,
        updated_at=at,
    )
    return int(row.pk)


def set_override(pk: int, override: float | None, *, user: str, at: datetime) -> None:
    """Override a threshold, or remove its override; the history names the administrator.

    Args:
        pk: Primary key of the threshold.
        override: Within its bounds; None: the computed threshold applies again.
        user: Name of the administrator.
        at: Current time.
    """
    with transaction.atomic():
        row = AdaptiveThreshold.objects.select_for_update(of=("self",)).get(pk=pk)
        before = _get_in_force(row)
        row.override, row.updated_at = override, at
        row.save(update_fields=["override", "updated_at"])
        ThresholdChange.objects.create(
            threshold=row,
            before=before,
            after=_get_in_force(row),
            reason=ThresholdChange.Reason.OVERRIDE,
            evidence={"computed": row.threshold, "override": override},
            user=user,
            at=at,
        )
        notify.send_notification(notify.THRESHOLDS, "")


def select_visible(team: int | None, *, every_team: bool = False) -> QuerySet[AdaptiveThreshold]:
    """Return the thresholds that a team sees: its own."""
    rows = AdaptiveThreshold.objects.select_related("team")
    return rows if every_team else rows.filter(team=team)


def find_nearest(team: int | None, *, domain: int, context: int) -> AdaptiveThreshold | None:
    """Return the narrowest threshold of a team that applies to a context; None: there is none."""
    return (
        AdaptiveThreshold.objects.filter(team=team)
        .filter(Q(domain_hash=domain) | Q(domain_hash__isnull=True))
        .filter(Q(context_hash=context) | Q(context_hash__isnull=True))
        .order_by(F("context_hash").desc(nulls_last=True), F("domain_hash").desc(nulls_last=True))
        .first()
    )


def select_changes(pk: int) -> QuerySet[ThresholdChange]:
    """Return the changes of a threshold; whether it is visible was checked before."""
    return ThresholdChange.objects.filter(threshold=pk)


def load_stored() -> dict[ThresholdScope, StoredThreshold]:
    """Return all thresholds, of the newest `MAX_LOADED`."""
    rows = AdaptiveThreshold.objects.order_by("-updated_at", "-pk").values_list(
        "team", "domain_hash", "context_hash", "threshold", "override", "suspended"
    )[:MAX_LOADED]
    return {
        ThresholdScope(team, domain, context): StoredThreshold(
            threshold=threshold, override=override, is_suspended=suspended
        )
        for team, domain, context, threshold, override, suspended in rows
    }


def _list_scopes(
    team: int | None, history: Sequence[ResolvedPrediction], domains: set[int] | None
) -> list[ThresholdScope]:
    """Return what to recompute: the team, the domains, and their most recent contexts."""
    newest = dict.fromkeys(
        one.context
        for one in reversed(history)
        if domains is None or one.context.domain in domains
    )
    chosen = list(newest)[:MAX_CONTEXTS]
    by_domain = dict.fromkeys(key.domain for key in chosen)
    return [
        ThresholdScope(team, None, None),
        *(ThresholdScope(team, domain, None) for domain in by_domain),
        *(ThresholdScope(team, key.domain, key.context) for key in chosen),
    ]


def _to_key(scope: ThresholdScope) -> ContextKey:
    """Return the key under which a tracker knows a scope; it has seen nothing of `ANY_…`."""
    return ContextKey(
        context=ANY_CONTEXT if scope.context is None else scope.context,
        domain=ANY_DOMAIN if scope.domain is None else scope.domain,
    )


def _store_estimates(
    team: int | None,
    estimates: Mapping[ThresholdScope, ThresholdEstimate],
    *,
    rules: ThresholdRules,
    at: datetime,
    names: SealedContexts,
) -> bool:
    """Store estimates and their changes; return whether any threshold has changed."""
    rows = {
        ThresholdScope(team, row.domain_hash, row.context_hash): row
        for row in AdaptiveThreshold.objects.filter(
            team=team, pk__in=_find_rows(team, estimates)
        ).select_for_update(of=("self",))
    }
    has_changed = False
    for scope, estimate in estimates.items():
        row = rows.get(scope)
        before = None if row is None else row.threshold
        is_moved = _has_moved(row, estimate)
        if row is None:
            row = AdaptiveThreshold(
                team_id=team, domain_hash=scope.domain, context_hash=scope.context
            )
        name = names.get(scope.domain or 0 if scope.context is None else scope.context)
        row.context_sealed = row.context_sealed or name or ""
        _fill_row(row, estimate, rules=rules, at=at, is_moved=is_moved)
        row.save()
        if is_moved:
            has_changed = True
            _record_change(row, estimate, before=before, at=at)
    return has_changed


def _find_rows(team: int | None, scopes: Iterable[ThresholdScope]) -> list[int]:
    wanted = set(scopes)
    domains = {scope.domain for scope in wanted if scope.domain is not None}
    rows = AdaptiveThreshold.objects.filter(team=team)
    found = rows.filter(domain_hash__in=domains) | rows.filter(domain_hash=None)
    return [
        pk
        for pk, domain, context in found.values_list("pk", "domain_hash", "context_hash")
        if ThresholdScope(team, domain, context) in wanted
    ]


def _has_moved(row: AdaptiveThreshold | None, estimate: ThresholdEstimate) -> bool:
    return (
        row is None
        or abs(row.threshold - estimate.threshold) >= MIN_MOVE - _EXACT
        or row.suspended is not estimate.is_suspended
    )


def _fill_row(
    row: AdaptiveThreshold,
    estimate: ThresholdEstimate,
    *,
    rules: ThresholdRules,
    at: datetime,
    is_moved: bool,
) -> None:
    preset = None if row.domain_hash is None else rules.presets.get(row.domain_hash)
    if is_moved:
        row.threshold = DEFAULT_PRESET.clamp(estimate.threshold)
    row.policy = rules.policy.name
    row.preset = None if preset is None else preset.initial
    row.suspended = estimate.is_suspended
    row.level = estimate.level.value
    row.sample_weight = estimate.sample_weight
    row.expected_success = estimate.expected_success
    row.success_bound = estimate.success_bound
    row.converged = estimate.is_converged
    row.updated_at = at


def _record_change(
    row: AdaptiveThreshold, estimate: ThresholdEstimate, *, before: float | None, at: datetime
) -> None:
    ThresholdChange.objects.create(
        threshold=row,
        before=before,
        after=row.threshold,
        reason=ThresholdChange.Reason.EVIDENCE,
        evidence=_describe_evidence(row.policy, estimate),
        at=at,
    )


def _describe_evidence(policy: str, estimate: ThresholdEstimate) -> dict[str, Any]:
    return {
        "policy": policy,
        "level": estimate.level.value,
        "sample_weight": round(estimate.sample_weight, _DIGITS),
        "expected_success": _round(estimate.expected_success),
        "success_bound": _round(estimate.success_bound),
        "suspended": estimate.is_suspended,
        "converged": estimate.is_converged,
    }


def _get_in_force(row: AdaptiveThreshold) -> float:
    return row.threshold if row.override is None else row.override


def _round(share: float | None) -> float | None:
    return None if share is None else round(share, _DIGITS)
