"""Resolves predictions of whole workflows and counts each outcome once.

A prediction, its total and what thresholds learn from it change in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from uuid import UUID

from django.conf import settings

from execution.speculation.outcome import RESOLVE_AFTER_S, Outcome, ResolvedSpeculation, Verdict
from execution.store import budgets, prediction_contents, speculations, transactions
from execution.store.speculations import IsAllowed
from learning.memory.context import ContextKey
from learning.prediction import IMPLICIT_WEIGHT, ResolvedPrediction
from learning.store import episodes, totals
from learning.store.totals import CountedPrediction

RUN_MAY_FOLLOW: Final = timedelta(seconds=RESOLVE_AFTER_S)
"""Time after an explicit verdict in which the caller may still run the workflow."""
LearnResolved = Callable[[Sequence[ResolvedPrediction]], None]
"""Learns from resolved predictions within their transaction; blocking."""


@dataclass(frozen=True, kw_only=True)
class OldOutcomes:
    """Counts of what was, or would be, deleted.

    Attributes:
        suggestions: Suggestions resolved too long ago.
        contents: Suggestions whose intent, calls and results were stored for too long.
        totals: Totals of days too long ago.
        reservations: Reservations of money for calls made ahead, of days too long ago.
    """

    suggestions: int
    contents: int
    totals: int
    reservations: int


def learn_nothing(_resolved: Sequence[ResolvedPrediction]) -> None:
    """Null implementation of `LearnResolved`."""


def resolve_due(
    *, at: datetime, learn: LearnResolved = learn_nothing
) -> list[ResolvedSpeculation]:
    """Resolve the predictions whose time is over, by what their callers did."""
    with transactions.short_transaction():
        resolved = speculations.resolve_due(at=at)
        _record_outcomes(resolved, learn)
    return resolved


def give_verdict(
    speculation: UUID,
    verdict: Verdict,
    *,
    allowed: IsAllowed,
    at: datetime,
    changed_tools: Sequence[int] | None = None,
    learn: LearnResolved = learn_nothing,
) -> tuple[ResolvedSpeculation, bool]:
    """Resolve a prediction by what somebody says of it; it counts once.

    Returns:
        The resolved prediction, and False if the same verdict had been given before.

    Raises:
        UnknownSpeculation: If there is none, or they may not judge it.
        FeedbackGiven: If another verdict was given before.
        SpeculationResolved: If it was resolved by what the caller did.
    """
    with transactions.short_transaction():
        given = speculations.record_verdict(
            speculation, verdict, allowed=allowed, at=at, changed_tools=changed_tools
        )
        if given.is_new:
            _record_outcomes([given.resolved], learn, was_counted=given.was_expired)
    return given.resolved, given.is_new


def load_resolved(
    team: int | None, *, limit: int, since: datetime | None = None
) -> list[ResolvedPrediction]:
    """Return what a team's resolved predictions teach, oldest first.

    Left out are those that nobody can judge (expired), and those that could never be run ahead
    because arguments were missing.
    """
    found = speculations.load_resolved(
        team, limit=limit, since=since, only_telling=True, within_shares=True
    )
    return _select_telling(found)


def count_old(*, at: datetime) -> OldOutcomes:
    """Count what `delete_old` would delete."""
    before = _compute_earliest(at)
    return OldOutcomes(
        suggestions=speculations.count_old(before=before),
        contents=prediction_contents.count_contents(before=_compute_earliest_content(at)),
        totals=totals.count_old(before=before.date()),
        reservations=budgets.count_old_reservations(at=at),
    )


def delete_old(*, at: datetime) -> OldOutcomes:
    """Delete outcomes and totals older than `FOREGATE_PREDICTION_DAYS`, and spent reservations.

    Intents, calls and results of suggestions are kept as those of runs, `FOREGATE_PAYLOAD_DAYS`.
    """
    before = _compute_earliest(at)
    return OldOutcomes(
        suggestions=speculations.delete_old(before=before),
        contents=prediction_contents.delete_contents(before=_compute_earliest_content(at)),
        totals=totals.delete_old(before=before.date()),
        reservations=budgets.delete_old_reservations(at=at),
    )


def _compute_earliest(at: datetime) -> datetime:
    return at - timedelta(days=settings.FOREGATE.prediction_days)


def _compute_earliest_content(at: datetime) -> datetime:
    return at - timedelta(days=settings.FOREGATE.payload_days)


def to_resolved_prediction(resolved: ResolvedSpeculation) -> ResolvedPrediction:
    """Return a resolved prediction as thresholds read it."""
    is_hit = resolved.outcome is Outcome.HIT and not resolved.has_failed
    return ResolvedPrediction(
        confidence=resolved.confidence,
        succeeded=is_hit,
        weight=min(resolved.weight, IMPLICIT_WEIGHT) if resolved.has_failed else resolved.weight,
        at=resolved.resolved_at.timestamp(),
        context=ContextKey(context=resolved.context_hash, domain=resolved.domain_hash),
        team=resolved.team,
        saves_ms=(resolved.saves_ms or 0.0) if is_hit else 0.0,
        context_sealed=resolved.context_sealed,
    )


def _record_outcomes(
    resolved: Sequence[ResolvedSpeculation], learn: LearnResolved, *, was_counted: bool = False
) -> None:
    prices = totals.load_prices({tool for one in resolved for tool in one.tools})
    totals.add_predictions(
        CountedPrediction(
            form=totals.INTENT,
            team=one.team,
            tool=None,
            is_shadow=one.is_shadow,
            at=one.resolved_at,
            chance=one.confidence,
            was_counted=was_counted,
            is_hit=one.outcome is Outcome.HIT and not one.has_failed,
            is_wasted=one.is_wasted,
            takes_ms=one.wasted_ms if one.is_wasted else one.saves_ms or 0.0,
            price=_sum_prices(prices.get(tool) for tool in one.tools),
        )
        for one in resolved
    )
    _settle_episodes([one for one in resolved if not one.is_shadow])
    telling = _select_telling(resolved)
    if telling:
        learn(telling)


def _settle_episodes(ran: Sequence[ResolvedSpeculation]) -> None:
    """Let workflows that were run ahead teach if they were right, and forget the others.

    A run of an accepted workflow teaches in its place: its episode waits until none can follow.
    """
    for one in ran:
        if one.outcome is Outcome.HIT:
            wait = RUN_MAY_FOLLOW if one.is_explicit else timedelta(0)
            episodes.release_episode(one.id, weight=one.weight, at=one.resolved_at + wait)
    episodes.drop_held([one.id for one in ran if one.outcome is not Outcome.HIT])


def _select_telling(found: Iterable[ResolvedSpeculation]) -> list[ResolvedPrediction]:
    return [to_resolved_prediction(one) for one in found if one.weight and one.is_runnable]


def _sum_prices(prices: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for price in prices:
        if price is None:
            return None
        total += price
    return total
