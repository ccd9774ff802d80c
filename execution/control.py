"""Decide which actions a run's status allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from execution.status import RunStatus
from gateway_project.foundation.user_error import UserError


class Action(StrEnum):
    """An action that controls a run."""

    CONTINUE = "continue"
    """Start the next layer after a decision point."""
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    REPLAN = "replan"


class ActionNotPossible(UserError):
    """The run's status does not allow the action."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class _ActionRule:
    """The statuses that allow an action.

    Attributes:
        allowed_statuses: Statuses in which it is carried out.
        satisfied_statuses: Statuses in which it has nothing to do, so that repeating it is
            harmless.
        required_state: Name of the allowed states; part of the error's code.
    """

    allowed_statuses: frozenset[RunStatus]
    satisfied_statuses: frozenset[RunStatus]
    required_state: str


_ACTIVE_STATUSES: Final = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING})
_UNFINISHED_STATUSES: Final = frozenset(status for status in RunStatus if not status.is_final)
_RULES: Final[Mapping[Action, _ActionRule]] = {
    Action.CONTINUE: _ActionRule(
        allowed_statuses=frozenset({RunStatus.PAUSED}),
        satisfied_statuses=frozenset({RunStatus.RUNNING}),
        required_state="paused",
    ),
    Action.RESUME: _ActionRule(
        allowed_statuses=frozenset({RunStatus.PAUSED}),
        satisfied_statuses=frozenset({RunStatus.RUNNING, RunStatus.QUEUED}),
        required_state="paused",
    ),
    Action.PAUSE: _ActionRule(
        allowed_statuses=_ACTIVE_STATUSES,
        satisfied_statuses=frozenset({RunStatus.PAUSED}),
        required_state="running",
    ),
    Action.ABORT: _ActionRule(
        allowed_statuses=_UNFINISHED_STATUSES,
        satisfied_statuses=frozenset({RunStatus.ABORTED}),
        required_state="open",
    ),
    Action.REPLAN: _ActionRule(
        allowed_statuses=_UNFINISHED_STATUSES - {RunStatus.QUEUED},
        satisfied_statuses=frozenset(),
        required_state="open",
    ),
}


def is_action_needed(action: Action, status: RunStatus, *, rerun_unknown: bool = False) -> bool:
    """Whether an action has anything to do in a run of this status.

    Args:
        action: The action.
        status: Status of the run.
        rerun_unknown: Whether a person chose to repeat unknown calls; this allows resuming any
            unfinished run, since other calls may continue beside an unknown one.

    Raises:
        ActionNotPossible: If the status does not allow it.

    Example:
        >>> (is_action_needed(Action.PAUSE, RunStatus.RUNNING),
        ...  is_action_needed(Action.PAUSE, RunStatus.PAUSED))
        (True, False)
    """
    rule = _RULES[action]
    if status in rule.allowed_statuses:
        return True
    if action is Action.RESUME and rerun_unknown and status in _UNFINISHED_STATUSES:
        return True
    if status in rule.satisfied_statuses:
        return False
    raise build_impossible_error(action, status)


def build_impossible_error(action: Action, status: RunStatus) -> ActionNotPossible:
    """Build the error of an action that the run's status does not allow."""
    needs = _RULES[action].required_state
    return ActionNotPossible(
        f"run_not_{needs}",
        f"the run is {status.value}, but {action.value} requires one that is {needs}",
    )


def build_refused_error(action: Action, outcome: str) -> ActionNotPossible:
    """Build the error of an action that the run refused when it was applied."""
    return ActionNotPossible(
        outcome,
        f"the run changed before {action.value} could be applied ({outcome})",
    )
