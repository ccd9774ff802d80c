"""Predictions of whole workflows: recorded once, resolved once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from execution.models import Speculation, WorkflowExecution
from execution.speculation.outcome import (
    OPEN,
    RESOLVE_AFTER_S,
    Evidence,
    Outcome,
    Resolution,
    ResolvedSpeculation,
    Verdict,
    combine_evidence,
    resolve_evidence,
    resolve_verdict,
)
from execution.status import RunStatus
from execution.store import transactions
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.fair_share import limit_contributions
from gateway_project.foundation.user_error import UserError
from tools.store import teams

MAX_RUN_WAIT: Final = timedelta(days=1)
"""Age at which a prediction is resolved even if its run has not ended."""
SPARED_FOR: Final = timedelta(days=30)
"""Time for which calls that a caller made themselves show that results made ahead spare them."""
RESOLVE_BATCH: Final = 500
DELETE_BATCH: Final = 5_000
ANNOUNCED_AT_ONCE: Final = 200
"""Ids per notification, of 37 bytes each; one holds at most 8,000 bytes."""

IsAllowed = Callable[[int | None, str], bool]
"""Whether somebody may judge a user's predictions: team acted for, then user name."""


class UnknownSpeculation(UserError, LookupError):
    """There is no such prediction, or it belongs to someone else."""

    code = "unknown_speculation"

    def __init__(self, speculation: object) -> None:
        super().__init__(
            f"you have no suggestion {str(speculation)!r}; use the speculation_id that run_intent "
            "returned"
        )


class SpeculationResolved(UserError):
    """The prediction was resolved by what the caller did, so a verdict comes too late."""

    code = "speculation_resolved"

    def __init__(self, outcome: str) -> None:
        super().__init__(
            f"this suggestion is resolved already ({outcome}); feedback counts within "
            f"{RESOLVE_AFTER_S / 60:g} minutes, or until something is known of it"
        )


class FeedbackGiven(UserError):
    """Another verdict was given before, and only the first counts."""

    code = "feedback_given"

    def __init__(self, verdict: str) -> None:
        super().__init__(f"feedback counts once, and this suggestion has it: {verdict}")


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSpeculation:
    """A prediction to record.

    Attributes:
        id: Its id, as the client knows it.
        user: Name of the caller's user.
        team: Primary key of the caller's team; None: none.
        is_shadow: Whether it was only predicted, not run ahead.
        context_hash: Keyed hash of the intent's context.
        domain_hash: Keyed hash of the context's domain.
        context_sealed: The parts of the context, sealed; empty: not kept.
        confidence: Probability that its tools are the right ones, in [0, 1].
        ranked_confidence: The same before it was corrected by earlier outcomes.
        threshold: Confidence required to run it ahead at that time.
        is_admitted: Whether its confidence was high enough to run it ahead.
        is_runnable: Whether all required arguments were known.
        tools: Primary keys of the suggested tools.
        digest: Keyed digest of the workflow with its arguments.
        saves_ms: Estimated duration of the workflow; None: unknown.
        tokens: Tokens that a client writes to run the workflow; None: not counted.
        at: When it was made.
        fallback: Code of the reason for which it was not run ahead; empty: none.
        tasks: Tool, milliseconds and trouble of each call that was made ahead; None: none was.
        took_ms: Milliseconds that running it ahead took; None: it was not.
        content: Its intent, calls and results, sealed; None: not kept.
    """

    id: UUID
    user: str
    team: int | None
    is_shadow: bool = True
    context_hash: int
    domain_hash: int
    context_sealed: str = ""
    confidence: float
    ranked_confidence: float
    threshold: float
    is_admitted: bool
    is_runnable: bool
    tools: tuple[int, ...]
    digest: str
    saves_ms: float | None = None
    tokens: int | None = None
    at: datetime
    fallback: str = ""
    tasks: tuple[tuple[str, float, str], ...] | None = None
    took_ms: float | None = None
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundEvidence:
    """What a caller did after a suggestion.

    Attributes:
        id: Id of the prediction.
        user: Name of the caller's user; evidence for another user's prediction is dropped.
        team: Likewise the team.
        evidence: What the caller did.
        at: When.
        run: Id of the run; None: there is none.
        changed_tools: Primary keys of the tools used instead; None: unknown.
    """

    id: UUID
    user: str
    team: int | None
    evidence: Evidence
    at: datetime
    run: UUID | None = None
    changed_tools: tuple[int, ...] | None = None


class GivenVerdict(NamedTuple):
    """What a verdict changed.

    Attributes:
        resolved: The prediction with its outcome.
        is_new: Whether the verdict resolved it; False: it was given before.
        was_expired: Whether it had been resolved before, by silence alone.
    """

    resolved: ResolvedSpeculation
    is_new: bool
    was_expired: bool = False


def insert_speculations(found: Iterable[NewSpeculation]) -> None:
    """Record predictions; those recorded before stay as they are."""
    wait = timedelta(seconds=RESOLVE_AFTER_S)
    rows = [
        Speculation(
            id=one.id,
            user=one.user,
            team_id=one.team,
            shadow=one.is_shadow,
            context_hash=one.context_hash,
            domain_hash=one.domain_hash,
            context_sealed=one.context_sealed,
            confidence=one.confidence,
            ranked_confidence=one.ranked_confidence,
            threshold=one.threshold,
            admitted=one.is_admitted,
            runnable=one.is_runnable,
            tools=list(one.tools),
            workflow_digest=one.digest,
            saves_ms=one.saves_ms,
            tokens=one.tokens,
            fallback=one.fallback,
            tasks=None
            if one.tasks is None
            else [
                {"tool": tool, "ms": round(took, 1)} | ({"outcome": trouble} if trouble else {})
                for tool, took, trouble in one.tasks
            ],
            took_ms=one.took_ms,
            content=one.content,
            created_at=one.at,
            due_at=one.at + wait,
        )
        for one in found
    ]
    Speculation.objects.bulk_create(rows, ignore_conflicts=True)
    _announce_changes(row.pk for row in rows)


def load_rows(ids: Collection[UUID]) -> list[Speculation]:
    """Return predictions of all teams by id; those that do not exist are left out."""
    return list(Speculation.objects.filter(pk__in=ids))


def load_fingerprint(
    speculation: UUID, *, user: str, team: int | None
) -> tuple[tuple[int, ...], str] | None:
    """Return the tools and the digest of a caller's suggestion; None: they have none such."""
    rows = Speculation.objects.filter(pk=speculation, user=user, team=team)
    row = rows.values_list("tools", "workflow_digest").first()
    return None if row is None else (tuple(row[0]), row[1])


def add_evidence(found: FoundEvidence) -> bool:
    """Add what a caller did to their open prediction; return whether it changed anything."""
    with transactions.short_transaction():
        row = (
            Speculation.objects.select_for_update(of=("self",))
            .filter(pk=found.id, user=found.user, team=found.team, outcome="")
            .first()
        )
        if row is None:
            return False
        combined = combine_evidence(Evidence(row.evidence), found.evidence)
        if combined is not found.evidence or (row.evidence, row.run) == (combined, found.run):
            return False
        Speculation.objects.filter(pk=row.pk).update(
            evidence=combined,
            run=found.run,
            changed_tools=None if found.changed_tools is None else list(found.changed_tools),
            due_at=found.at + timedelta(seconds=RESOLVE_AFTER_S),
        )
    return True


def record_verdict(
    speculation: UUID,
    verdict: Verdict,
    *,
    allowed: IsAllowed,
    at: datetime,
    changed_tools: Sequence[int] | None = None,
) -> GivenVerdict:
    """Resolve a prediction by what somebody says of it; call it in a transaction.

    It may come late where nothing else has said how the prediction turned out.

    Args:
        speculation: Its id.
        verdict: What they say.
        allowed: Whether they may judge the predictions of a team and a user.
        at: Current time.
        changed_tools: Primary keys of the tools that would have been right; None: not stated.

    Raises:
        UnknownSpeculation: If there is none, or they may not judge it.
        FeedbackGiven: If another verdict was given before.
        SpeculationResolved: If it was resolved by what the caller did.
    """
    row = Speculation.objects.select_for_update(of=("self",)).filter(pk=speculation).first()
    if row is None or not allowed(row.team_id, row.user):
        raise UnknownSpeculation(speculation)
    if row.verdict == verdict:
        return GivenVerdict(_build_resolved(row), is_new=False)
    if row.verdict:
        raise FeedbackGiven(row.verdict)
    was_expired = row.outcome == Outcome.EXPIRED
    if not was_expired and _is_settled(row, at):
        raise SpeculationResolved(row.outcome or "decided by what the caller did")
    row.verdict = verdict
    if changed_tools is not None:
        row.changed_tools = list(changed_tools)
    # Totals are kept by day, so one that was counted stays where it was counted.
    counted_at = row.resolved_at if was_expired and row.resolved_at is not None else at
    _resolve_row(row, resolve_verdict(verdict), is_explicit=True, at=counted_at)
    _announce_changes([row.pk])
    return GivenVerdict(_build_resolved(row), is_new=True, was_expired=was_expired)


def _is_settled(row: Speculation, at: datetime) -> bool:
    """Whether what the caller did has decided already how a prediction turned out."""
    if row.outcome or row.evidence == Evidence.NONE or row.due_at > at:
        return bool(row.outcome)
    return row.run is None or not _select_open_runs().filter(pk=row.run).exists()


def resolve_due(*, at: datetime, limit: int = RESOLVE_BATCH) -> list[ResolvedSpeculation]:
    """Resolve the predictions whose time is over; call it in a transaction.

    One whose run has not ended waits for it, a day at most. Several processes may do this at
    once: each row is resolved by one of them.

    Args:
        at: Current time.
        limit: Maximum number.
    """
    rows = list(
        _select_due(at)
        .select_for_update(skip_locked=True, of=("self",))
        .order_by("due_at")[:limit]
    )
    statuses = _load_run_statuses(row.run for row in rows if row.run is not None)
    own_calls = _load_own_calls(rows, since=at - SPARED_FOR)
    for row in rows:
        resolution = resolve_evidence(
            Evidence(row.evidence),
            None if row.run is None else statuses.get(row.run),
            has_failed=row.has_failed,
            was_spared=not row.shadow and not row.has_failed and _get_calls_key(row) in own_calls,
        )
        _resolve_row(row, resolution, is_explicit=False, at=at)
    _announce_changes(row.pk for row in rows)
    return [_build_resolved(row) for row in rows]


def load_resolved(
    team: int | None,
    *,
    limit: int,
    since: datetime | None = None,
    only_telling: bool = False,
    within_shares: bool = False,
) -> list[ResolvedSpeculation]:
    """Return a team's resolved predictions, oldest first; the newest if there are too many.

    Args:
        team: Primary key; None: callers without a team.
        limit: Maximum number.
        since: Earliest resolution; None: any.
        only_telling: Whether to leave out those without a weight and those not runnable.
        within_shares: Whether to leave out what exceeds its person's share in a team.
    """
    rows = Speculation.objects.exclude(outcome="").filter(team=team)
    if only_telling:
        rows = rows.filter(weight__gt=0.0, runnable=True)
    if since is not None:
        rows = rows.filter(resolved_at__gte=since)
    newest: Iterable[Speculation] = rows.order_by("-resolved_at", "-pk")[:limit]
    if within_shares and team is not None and teams.count_members(team) > 1:
        newest = limit_contributions(
            newest, lambda row: (row.user, row.created_at.date(), row.context_hash)
        )
    return [_build_resolved(row) for row in reversed(list(newest))]


def load_page(
    caller: Caller | None,
    *,
    outcome: str = "",
    shadow: bool | None = None,
    only: UUID | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[Speculation]:
    """Return predictions, newest first.

    Args:
        caller: Sees those that they own; None: sees all.
        outcome: Only with this one of `LISTED_OUTCOMES`; empty: all.
        shadow: Only those that were not run ahead (True), or that were (False); None: all.
        only: Only the one of this id; None: all.
        after: Time and id of the last one of the page before; None: from the newest.
        limit: Maximum count.
    """
    rows = Speculation.objects.order_by("-created_at", "id")
    if caller is not None:
        rows = rows.filter(team__isnull=False, team=caller.owner)
    if outcome:
        rows = rows.filter(outcome="" if outcome == OPEN else outcome)
    if shadow is not None:
        rows = rows.filter(shadow=shadow)
    if only is not None:
        rows = rows.filter(id=only)
    if after is not None:
        at, last = after
        rows = rows.filter(Q(created_at__lt=at) | Q(created_at=at, id__gt=last))
    return list(rows[:limit])


def count_open(team: int | None) -> int:
    """Return the number of a team's predictions that wait for their outcome."""
    return Speculation.objects.filter(team=team, outcome="").count()


def count_old(*, before: datetime) -> int:
    """Return the number of predictions resolved before some time."""
    return Speculation.objects.filter(resolved_at__lt=before).count()


def delete_old(*, before: datetime) -> int:
    """Delete predictions resolved before some time; return how many."""
    old = Speculation.objects.filter(resolved_at__lt=before).values_list("pk", flat=True)
    total = 0
    while batch := list(old[:DELETE_BATCH]):
        total += Speculation.objects.filter(pk__in=batch).delete()[0]
    return total


def _select_due(at: datetime) -> QuerySet[Speculation]:
    due = Speculation.objects.filter(outcome="", due_at__lte=at)
    is_running = Exists(_select_open_runs().filter(pk=OuterRef("run")))
    return due.exclude(is_running, created_at__gt=at - MAX_RUN_WAIT)


def _select_open_runs() -> QuerySet[WorkflowExecution]:
    return WorkflowExecution.objects.filter(ended_at__isnull=True)


def _load_run_statuses(runs: Iterable[UUID]) -> dict[UUID, RunStatus]:
    found = WorkflowExecution.objects.filter(pk__in=list(runs)).values_list("pk", "status")
    return {run: RunStatus(status) for run, status in found}


def _get_calls_key(row: Speculation) -> tuple[object, ...]:
    return (row.user, row.team_id, row.context_hash, *sorted(row.tools))


def _load_own_calls(rows: Sequence[Speculation], *, since: datetime) -> set[tuple[object, ...]]:
    """Return who made which calls themselves since some time, for rows that lack evidence."""
    silent = [
        row
        for row in rows
        if not row.shadow and row.evidence in (Evidence.NONE, Evidence.OTHER_CALLS)
    ]
    if not silent:
        return set()
    found = Speculation.objects.filter(
        resolved_at__gte=since,
        user__in={row.user for row in silent},
        context_hash__in={row.context_hash for row in silent},
        evidence__in=(Evidence.RUN, Evidence.CALLS),
        outcome=Outcome.HIT,
    ).only("user", "team", "context_hash", "tools")
    return {_get_calls_key(row) for row in found}


def _resolve_row(
    row: Speculation, resolution: Resolution, *, is_explicit: bool, at: datetime
) -> None:
    row.outcome, row.weight = resolution.outcome, resolution.weight
    row.explicit, row.resolved_at = is_explicit, at
    row.save(
        update_fields=["verdict", "changed_tools", "outcome", "weight", "explicit", "resolved_at"]
    )


def _announce_changes(ids: Iterable[UUID]) -> None:
    """Notify those who look on, when the current transaction commits."""
    named = [str(one) for one in ids]
    for start in range(0, len(named), ANNOUNCED_AT_ONCE):
        page = named[start : start + ANNOUNCED_AT_ONCE]
        notify.send_notification(notify.PREDICTIONS, ",".join(page))


def _build_resolved(row: Speculation) -> ResolvedSpeculation:
    if row.resolved_at is None:
        raise ValueError(f"prediction {row.pk} is not resolved")
    return ResolvedSpeculation(
        id=row.pk,
        team=row.team_id,
        is_shadow=row.shadow,
        context_hash=row.context_hash,
        domain_hash=row.domain_hash,
        confidence=row.confidence,
        ranked_confidence=row.ranked_confidence,
        threshold=row.threshold,
        is_admitted=row.admitted,
        is_runnable=row.runnable,
        tools=tuple(row.tools),
        saves_ms=row.saves_ms,
        tokens=row.tokens,
        outcome=Outcome(row.outcome),
        weight=row.weight,
        is_explicit=row.explicit,
        resolved_at=row.resolved_at,
        changed_tools=None if row.changed_tools is None else tuple(row.changed_tools),
        has_failed=row.has_failed,
        took_ms=row.took_ms,
        own_ms=row.own_ms,
        context_sealed=row.context_sealed,
    )


def rename_predictions(before: str, after: str) -> None:
    """Give the predictions for a user their new name; the database does so to runs by itself."""
    Speculation.objects.filter(user=before).update(user=after)
