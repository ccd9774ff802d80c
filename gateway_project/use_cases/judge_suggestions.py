"""Record a person's verdict on suggestions, with audit entries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from execution.prediction_outcome import Verdict
from execution.store.speculations import FeedbackGiven, SpeculationResolved, UnknownSpeculation
from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.load_presets import load_presets
from learning import outcomes
from learning.store.thresholds import ThresholdRules, record_resolved
from learning.thresholds.named import make_policy


class JudgedSuggestions(NamedTuple):
    """What became of the verdicts.

    Attributes:
        recorded: Suggestions that are resolved by them.
        refused: Suggestions that were resolved before by more than silence, or are gone.
    """

    recorded: int
    refused: int


def judge_suggestions(
    caller: Caller,
    speculations: Collection[UUID],
    verdict: Verdict,
    *,
    at: datetime,
    changed_tools: Sequence[int] | None = None,
) -> JudgedSuggestions:
    """Resolve suggestions that the caller has been shown; each counts once and moves thresholds.

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
    return JudgedSuggestions(recorded, len(speculations) - recorded)
