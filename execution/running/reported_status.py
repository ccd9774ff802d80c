"""Derives a run's status, and reports changes of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from execution import events
from execution.changes import NO_DATA
from execution.running.run_state import RunState
from execution.status import RunStatus, TaskStatus

ABORTED: Final = "aborted"
DEADLINE_EXCEEDED: Final = "deadline_exceeded"
_EVENT_KINDS: Final[Mapping[RunStatus, str]] = {
    RunStatus.PAUSED: events.RUN_PAUSED,
    RunStatus.WAITING: events.RUN_WAITING,
    RunStatus.UNKNOWN: events.RUN_UNKNOWN,
    RunStatus.RUNNING: events.RUN_RESUMED,
}


class RunOutlook(NamedTuple):
    """The derived state of a run.

    Attributes:
        status: Of the run.
        is_at_layer_end: Whether all open layers are complete.
    """

    status: RunStatus
    is_at_layer_end: bool = False


def derive_outlook(
    state: RunState, *, is_busy: bool, is_paused: bool, is_halted: bool, cancel_reason: str
) -> RunOutlook:
    """Derive the state of a run.

    Args:
        state: State of its tasks.
        is_busy: Whether calls are in flight or about to be.
        is_paused: Whether somebody paused it.
        is_halted: Whether this process starts no more calls.
        cancel_reason: Why it is ending early; empty: it is not.
    """
    if is_busy:
        return RunOutlook(RunStatus.PAUSED if is_paused else RunStatus.RUNNING)
    schedule = state.schedule
    if schedule.is_settled:
        status = _derive_final_status(state, cancel_reason)
        if status.is_final:
            return RunOutlook(status)
    if schedule.is_layer_complete:
        return RunOutlook(RunStatus.PAUSED, is_at_layer_end=True)
    if is_paused:
        return RunOutlook(RunStatus.PAUSED)
    if is_halted or state.queues:
        return RunOutlook(RunStatus.RUNNING)
    return RunOutlook(RunStatus.WAITING if state.is_waiting else RunStatus.UNKNOWN)


def report_outlook(
    state: RunState, outlook: RunOutlook, at: datetime, *, before: RunStatus, cancel_reason: str
) -> None:
    """Add the state of a run and its event to the pending changes.

    Args:
        state: State of its tasks.
        outlook: The state to report.
        at: When.
        before: Status as last reported.
        cancel_reason: As in `derive_outlook`.
    """
    code, error = _explain_run_failure(state, outlook, cancel_reason)
    state.pending_changes.set_status(outlook.status, code=code, error=error)
    kind, data = _build_event(state, outlook, before)
    state.pending_changes.add_event(kind, at, data)


def _build_event(
    state: RunState, outlook: RunOutlook, before: RunStatus
) -> tuple[str, Mapping[str, Any]]:
    """Return the kind and data of the event that reports a state."""
    if outlook.is_at_layer_end:
        layers = {"layer": state.schedule.current_layer, "of": state.schedule.layer_count}
        return events.LAYER_COMPLETE, layers
    if outlook.status.is_final:
        return events.RUN_ENDED, {"status": outlook.status.value}
    if before is RunStatus.QUEUED and outlook.status is RunStatus.RUNNING:
        return events.RUN_STARTED, NO_DATA
    return _EVENT_KINDS[outlook.status], NO_DATA


def _explain_run_failure(
    state: RunState, outlook: RunOutlook, cancel_reason: str
) -> tuple[str, str]:
    """Return the error code and message of a failed run; empty if it has not failed."""
    if outlook.status is not RunStatus.FAILED:
        return "", ""
    if cancel_reason:
        return cancel_reason, "the run did not finish before its deadline"
    cause = state.failure_cause
    because = f"task {cause.task!r}: {cause.message}" if cause else ""
    if cause and state.schedule.is_stopped:
        return cause.code, because
    return "nothing_succeeded", "; ".join(filter(None, ("no task succeeded", because)))


def _derive_final_status(state: RunState, cancel_reason: str) -> RunStatus:
    """Return the final status of a settled run; success in time overrides a cancellation."""
    verdict = state.schedule.derive_final_status()
    is_cut_short = state.is_cut_short or state.schedule.has_status(TaskStatus.CANCELLED)
    if not cancel_reason or (verdict is RunStatus.SUCCEEDED and not is_cut_short):
        return verdict
    return RunStatus.ABORTED if cancel_reason == ABORTED else RunStatus.FAILED
