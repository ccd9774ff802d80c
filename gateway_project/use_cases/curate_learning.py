"""Correct what was learned: thresholds, verdicts on predictions, patterns; each is audited."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from execution.speculation.outcome import Verdict
from execution.store import speculations
from execution.store.speculations import FeedbackGiven, SpeculationResolved, UnknownSpeculation
from gateway_project.access import audit
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.use_cases.refusals import NoSuchRow
from graph.store import patterns
from learning import outcomes
from learning.memory.context import Context, describe_context, hash_context
from learning.store import thresholds
from learning.store.thresholds import ThresholdRules, record_resolved
from learning.thresholds.named import make_policy, parse_presets
from learning.thresholds.policy import Presets

Select = Callable[..., Any]
"""Returns the rows that a team sees, or those of every team."""


def load_presets(config: Config) -> Presets:
    """Return the presets of the installation by hash of the domain.

    Raises:
        ValueError: If the setting is malformed.
    """
    if not config.threshold_presets:
        return {}
    sealer = sealing.load_or_create_sealer(config.home)

    def hash_domain(name: str) -> int:
        return hash_context(describe_context(domain=name), sealer.digest).domain

    return parse_presets(config.threshold_presets, hash_domain)


def name_threshold(row: Any) -> str:
    """Return what a threshold applies to, by its name where that is known."""
    if not row.context_sealed or row.domain_hash is None:
        return str(row.scope)
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    try:
        context = Context(**sealer.unseal(row.context_sealed))
    except UnsealingFailed:
        return str(row.scope)
    if row.context_hash is None:
        return f"domain {context.domain or 'unknown'}"
    return f"{context.workflow_type or 'any work'} in {context.domain}, {context.complexity}"


def preset_threshold(
    caller: Caller, stated: Mapping[str, str], *, override: float, at: datetime
) -> int:
    """Set the threshold of a kind of work of the caller's team; return its primary key.

    It need not have been asked for yet.

    Args:
        caller: The administrator.
        stated: The kind of work: `domain`; without `workflow_type` and `complexity`, all of it.
        override: Confidence from which to speculate.
        at: Current time.
    """
    home = settings.FOREGATE.home
    context = describe_context(
        domain=stated["domain"],
        workflow_type=stated.get("workflow_type", ""),
        complexity=stated.get("complexity", ""),
    )
    with transaction.atomic():
        pk = thresholds.preset_threshold(
            caller.owner,
            hash_context(context, sealing.load_or_create_sealer(home).digest),
            is_domain=not (stated.get("workflow_type") or stated.get("complexity")),
            context_sealed=sealing.load_or_create_sealer(home, name=sealing.PAYLOADS).seal(
                asdict(context)
            ),
            at=at,
        )
        override_threshold(caller, pk, override, subject=f"threshold {pk}", at=at)
    return pk


def override_threshold(
    caller: Caller, pk: int, override: float | None, *, subject: str, at: datetime
) -> None:
    """Override a threshold, or remove its override.

    Args:
        caller: The administrator.
        pk: Primary key of the threshold.
        override: Confidence from which to speculate; None: as computed.
        subject: Name of the threshold in the audit trail.
        at: Current time.
    """
    with transaction.atomic():
        thresholds.set_override(pk, override, user=caller.user, at=at)
        audit.record_audit(caller, "threshold.overridden", subject, detail={"override": override})


def judge_suggestions(
    caller: Caller,
    speculations: Collection[UUID],
    verdict: Verdict,
    *,
    at: datetime,
    changed_tools: Sequence[int] | None = None,
) -> int:
    """Resolve suggestions that the caller has been shown; each counts once and moves thresholds.

    Returns how many are resolved by it; others were before by more than silence, or are gone.

    Args:
        caller: Who judges.
        speculations: Ids of predictions that they may see.
        verdict: What they say of each.
        at: Current time.
        changed_tools: Primary keys of the tools that would have been right; None: not stated.
    """
    config = settings.FOREGATE
    rules = ThresholdRules(
        policy=make_policy(config.threshold_policy),
        presets=load_presets(config),
        load_resolved=outcomes.load_resolved,
    )
    recorded = 0
    for speculation in speculations:
        try:
            with transaction.atomic():
                _, is_new = outcomes.give_verdict(
                    speculation,
                    verdict,
                    allowed=lambda *_: True,
                    at=at,
                    changed_tools=changed_tools,
                    learn=partial(record_resolved, rules=rules, at=at),
                )
                if is_new:
                    detail = {"verdict": verdict.value}
                    audit.record_audit(
                        caller, "suggestion.judged", str(speculation), detail=detail
                    )
        except (FeedbackGiven, SpeculationResolved, UnknownSpeculation):
            continue
        recorded += is_new
    return recorded


def find_prediction(caller: Caller, speculation: UUID) -> Any:
    """Return a predicted workflow of the caller's team; superusers see all.

    Raises:
        UnknownSpeculation: If there is none for the caller.
    """
    viewer = None if caller.has_scope(SCOPE_ALL) else caller
    for row in speculations.load_page(viewer, only=speculation, limit=1):
        return row
    raise UnknownSpeculation(speculation)


def select_visible(caller: Caller, select: Select) -> Any:
    """Return rows that the caller's team learned, of every team for a superuser."""
    return select(caller.owner, every_team=caller.has_scope(SCOPE_ALL))


def find_visible(caller: Caller, select: Select, pk: int, what: str) -> Any:
    """Return one row of `select_visible`.

    Raises:
        NoSuchRow: If there is none for the caller; the message says what.
    """
    row = select_visible(caller, select).filter(pk=pk).first()
    if row is None:
        raise NoSuchRow(f"{what} {pk}")
    return row


def find_own_pattern(caller: Caller, pk: int) -> Any:
    """Return a pattern that the caller may have forgotten.

    Raises:
        NoSuchRow: If there is none, or it is another team's or everybody's.
    """
    row = find_visible(caller, patterns.select_visible, pk, "pattern")
    if row.team_id != caller.owner and not caller.has_scope(SCOPE_ALL):
        raise NoSuchRow(f"pattern {pk} of your team")
    return row


def forget_patterns(caller: Caller, pks: Collection[int]) -> int:
    """Delete patterns with their runs and everything learned from them; return how many."""
    with transaction.atomic():
        deleted = patterns.delete_patterns(pks)
        for name in deleted:
            audit.record_audit(caller, "pattern.forgotten", name)
    return len(deleted)
