"""How predictions of whole workflows are resolved: the rule, without any storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from execution.status import RunStatus

RESOLVE_AFTER_S: Final = 600.0
"""Seconds in which the caller may confirm or contradict a prediction."""
EXPLICIT_WEIGHT: Final = 1.0
IMPLICIT_WEIGHT: Final = 0.5
"""Of outcomes that nobody stated."""


class Outcome(StrEnum):
    """How a prediction was resolved."""

    HIT = "hit"
    """It was accepted, carried out as suggested without an error, or its results were used."""
    MISS = "miss"
    """The caller did something else instead, or it failed."""
    REJECTED = "rejected"
    """The caller said that it is wrong."""
    MODIFIED = "modified"
    """The caller changed it: something of it was right."""
    FAILED = "failed"
    """It was run ahead, and a call failed or took too long."""
    EXPIRED = "expired"
    """Nothing was heard of it; it says nothing about the prediction."""


OPEN: Final = "open"
LISTED_OUTCOMES: Final = (OPEN, *(outcome.value for outcome in Outcome))
"""By which predictions are listed; open: those without an outcome yet."""


class Verdict(StrEnum):
    """What the caller says of a suggestion."""

    ACCEPT = "accept"
    REJECT = "reject"
    MODIFY = "modify"


class Evidence(StrEnum):
    """What the caller did after a suggestion."""

    NONE = ""
    """Nothing of note yet."""
    RUN = "run"
    """Ran the workflow as suggested."""
    CALLS = "calls"
    """Made the suggested calls one by one."""
    CHANGED_RUN = "changed_run"
    """Ran a workflow that shares tools with the suggestion."""
    SOME_CALLS = "some_calls"
    """Called some of the suggested tools, or called them with other arguments."""
    OTHER_RUN = "other_run"
    """Named the suggestion as the source of a workflow that shares no tool with it."""
    OTHER_CALLS = "other_calls"
    """Called other tools only, for the same intent as far as can be told."""
    USED = "used"
    """Took results made ahead: asked for one, or passed a value from one on."""


class Resolution(NamedTuple):
    """An outcome and how sure it is.

    Attributes:
        outcome: The outcome.
        weight: In [0, 1]; 0: nothing is learned from it.
    """

    outcome: Outcome
    weight: float


class OutcomeSum(NamedTuple):
    """Outcomes of a team's suggestions in one context, with nearly equal confidences.

    Attributes:
        team: Primary key; None: callers without a team.
        context_hash: Keyed hash of the context.
        ranked_confidence: Rounded to a hundredth.
        weight: Sum of their weights.
        weight_right: Of this, that of suggestions whose tools were the right ones.
    """

    team: int | None
    context_hash: int
    ranked_confidence: float
    weight: float
    weight_right: float


WRONG_OUTCOMES: Final = frozenset(
    {Outcome.MISS, Outcome.REJECTED, Outcome.MODIFIED, Outcome.FAILED}
)
"""What was run ahead for nothing, or would have been."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedSpeculation:
    """A prediction with its outcome; attributes named as in `NewSpeculation` mean the same.

    Attributes:
        outcome: How it was resolved.
        weight: How much is learned from it, in [0, 1].
        is_explicit: Whether a verdict resolved it.
        resolved_at: When.
        changed_tools: Primary keys of the tools used instead; None: none, or unknown.
        has_failed: Whether it was run ahead without success.
        own_ms: Milliseconds from the answer until the caller had made the calls; None: they did
            not, or not all of them.
    """

    id: UUID
    team: int | None
    is_shadow: bool
    context_hash: int
    domain_hash: int
    confidence: float
    ranked_confidence: float
    threshold: float
    is_admitted: bool
    is_runnable: bool
    tools: tuple[int, ...]
    saves_ms: float | None
    tokens: int | None
    outcome: Outcome
    weight: float
    is_explicit: bool
    resolved_at: datetime
    changed_tools: tuple[int, ...] | None = None
    has_failed: bool = False
    took_ms: float | None = None
    own_ms: float | None = None
    context_sealed: str = ""

    @property
    def is_wasted(self) -> bool:
        """Whether it was run ahead for nothing, or would have been."""
        return self.has_failed or self.outcome in WRONG_OUTCOMES

    @property
    def wasted_ms(self) -> float:
        """Milliseconds that it took in vain, as measured, else as estimated."""
        return (self.took_ms or self.saves_ms or 0.0) if self.is_wasted else 0.0

    @property
    def says_of_tools(self) -> bool:
        """Whether the outcome says anything of the tools that were suggested."""
        return self.weight > 0.0 and self.outcome is not Outcome.FAILED

    @property
    def has_right_tools(self) -> bool:
        """Whether the suggested tools were the right ones, whatever their arguments."""
        return self.outcome is Outcome.HIT or (
            self.outcome is Outcome.MODIFIED
            and self.changed_tools is not None
            and sorted(self.changed_tools) == sorted(self.tools)
        )


_STATED: Final = {
    Verdict.ACCEPT: Outcome.HIT,
    Verdict.REJECT: Outcome.REJECTED,
    Verdict.MODIFY: Outcome.MODIFIED,
}
_DONE: Final = {
    Evidence.CALLS: Outcome.HIT,
    Evidence.USED: Outcome.HIT,
    Evidence.CHANGED_RUN: Outcome.MODIFIED,
    Evidence.SOME_CALLS: Outcome.MODIFIED,
    Evidence.OTHER_RUN: Outcome.MISS,
    Evidence.OTHER_CALLS: Outcome.MISS,
}
_RUN_OUTCOMES: Final = {
    RunStatus.SUCCEEDED: Outcome.HIT,
    RunStatus.PARTIAL_SUCCESS: Outcome.MISS,
    RunStatus.FAILED: Outcome.MISS,
}
_STRENGTHS: Final = {
    Evidence.NONE: 0,
    Evidence.OTHER_CALLS: 1,
    Evidence.SOME_CALLS: 2,
    Evidence.USED: 3,
}
"""Of weak evidence; all other evidence is stronger, and equally strong."""
_STRONGEST: Final = 4


def resolve_verdict(verdict: Verdict) -> Resolution:
    """Return the outcome that a verdict states.

    Example:
        >>> resolve_verdict(Verdict.REJECT)
        Resolution(outcome=<Outcome.REJECTED: 'rejected'>, weight=1.0)
    """
    return Resolution(_STATED[verdict], EXPLICIT_WEIGHT)


def combine_evidence(earlier: Evidence, later: Evidence) -> Evidence:
    """Return what both show: the stronger, and of equally strong ones the later.

    Example:
        >>> combine_evidence(Evidence.CHANGED_RUN, Evidence.RUN).value
        'run'
        >>> combine_evidence(Evidence.RUN, Evidence.OTHER_CALLS).value
        'run'
    """
    is_weaker = _STRENGTHS.get(later, _STRONGEST) < _STRENGTHS.get(earlier, _STRONGEST)
    return earlier if is_weaker else later


def read_calls(matched: Sequence[bool], *, shares_tools: bool, made_calls: bool) -> Evidence:
    """Return what the direct calls since a suggestion show.

    Args:
        matched: For each suggested task, whether a call carried it out.
        shares_tools: Whether any suggested tool was called.
        made_calls: Whether any tool was called.

    Example:
        >>> read_calls([True, False], shares_tools=True, made_calls=True).value
        'some_calls'
    """
    if matched and all(matched):
        return Evidence.CALLS
    if shares_tools:
        return Evidence.SOME_CALLS
    return Evidence.OTHER_CALLS if made_calls else Evidence.NONE


def resolve_evidence(
    evidence: Evidence,
    run_status: RunStatus | None = None,
    *,
    has_failed: bool = False,
    was_spared: bool = False,
) -> Resolution:
    """Return the outcome once the time to contradict is over.

    Silence is no evidence, unless the caller used to make these calls: then not making them says
    that the results made ahead were enough. Together with other calls it says nothing.

    Args:
        evidence: What the caller did.
        run_status: Status of the run of the suggested workflow; None: there is none. A run that
            was aborted or has not ended says nothing about the suggestion.
        has_failed: Whether it was run ahead without success.
        was_spared: Whether it was run ahead with success, and its caller made such calls
            themselves before.

    Example:
        >>> resolve_evidence(Evidence.NONE).outcome.value
        'expired'
        >>> resolve_evidence(Evidence.NONE, was_spared=True).outcome.value
        'hit'
    """
    if has_failed:
        return Resolution(Outcome.FAILED, IMPLICIT_WEIGHT)
    outcome = _DONE.get(evidence)
    if evidence is Evidence.RUN and run_status is not None:
        outcome = _RUN_OUTCOMES.get(run_status)
    elif was_spared and evidence is Evidence.NONE:
        outcome = Outcome.HIT
    elif was_spared and evidence is Evidence.OTHER_CALLS:
        outcome = None
    if outcome is None:
        return Resolution(Outcome.EXPIRED, 0.0)
    return Resolution(outcome, IMPLICIT_WEIGHT)
