"""Decide what a run can be told in the state it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from execution.status import RunStatus


class Action(StrEnum):
    """What a run is told to do."""

    CONTINUE = "continue"
    """Start the next layer, where its agent was asked."""
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    REPLAN = "replan"


class NotPossible(Exception):
    """The run is in no state to do that.

    Attributes:
        code: `run_not_` and the state it would have to be in.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """In which states an action has something to do.

    Attributes:
        possible: There it is carried out.
        done: There all is as it wants it already, so that telling a run twice does no harm.
        needs: Word for the states in which it is possible; part of the error's code.
    """

    possible: frozenset[RunStatus]
    done: frozenset[RunStatus]
    needs: str


_GOING: Final = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING})
_OPEN: Final = frozenset(status for status in RunStatus if not status.is_final)
_RULES: Final[Mapping[Action, _Rule]] = {
    Action.CONTINUE: _Rule(
        possible=frozenset({RunStatus.PAUSED}),
        done=frozenset({RunStatus.RUNNING}),
        needs="paused",
    ),
    Action.RESUME: _Rule(
        possible=frozenset({RunStatus.PAUSED}),
        done=frozenset({RunStatus.RUNNING, RunStatus.QUEUED}),
        needs="paused",
    ),
    Action.PAUSE: _Rule(possible=_GOING, done=frozenset({RunStatus.PAUSED}), needs="running"),
    Action.ABORT: _Rule(possible=_OPEN, done=frozenset({RunStatus.ABORTED}), needs="open"),
    Action.REPLAN: _Rule(possible=_OPEN - {RunStatus.QUEUED}, done=frozenset(), needs="open"),
}


def is_needed(action: Action, status: RunStatus, *, rerun_unknown: bool = False) -> bool:
    """Whether a run has to do something to carry an action out.

    Args:
        action: What it is told.
        status: How the run stands.
        rerun_unknown: Whether a person chose to make unknown calls again; then any can be resumed
            that has not ended, since others may go on beside such a call.

    Raises:
        NotPossible: If it cannot do that as it stands.

    Example:
        >>> is_needed(Action.PAUSE, RunStatus.RUNNING), is_needed(Action.PAUSE, RunStatus.PAUSED)
        (True, False)
    """
    rule = _RULES[action]
    if status in rule.possible:
        return True
    if action is Action.RESUME and rerun_unknown and status in _OPEN:
        return True
    if status in rule.done:
        return False
    raise not_possible(action, status)


def not_possible(action: Action, status: RunStatus) -> NotPossible:
    """Return the error of an action that a run cannot carry out as it stands."""
    needs = _RULES[action].needs
    return NotPossible(
        f"run_not_{needs}",
        f"the run is {status.value}, and {action.value} needs one that is {needs}",
    )


def refused(action: Action, outcome: str) -> NotPossible:
    """Return the error of an action that the run refused when its turn came.

    Args:
        action: What it was told.
        outcome: Code that was written down.
    """
    return NotPossible(
        outcome,
        f"the run had changed before {action.value} could be carried out ({outcome})",
    )
