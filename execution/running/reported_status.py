"""What a run has come to: its status, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from execution import events
from execution.running.run_state import RunState
from execution.status import RunStatus, TaskStatus

ABORTED: Final = "aborted"
DEADLINE: Final = "deadline_exceeded"
_EVENTS: Final[Mapping[RunStatus, str]] = {
    RunStatus.PAUSED: events.RUN_PAUSED,
    RunStatus.WAITING: events.RUN_WAITING,
    RunStatus.UNKNOWN: events.RUN_UNKNOWN,
    RunStatus.RUNNING: events.RUN_RESUMED,
}


class Outlook(NamedTuple):
    """How a run stands.

    Attributes:
        status: Of the run.
        is_at_layer: Whether it has come to the end of the open layers.
    """

    status: RunStatus
    is_at_layer: bool = False


def outlook(
    state: RunState, *, is_busy: bool, is_paused: bool, is_halted: bool, called_off: str
) -> Outlook:
    """Return how a run stands.

    Args:
        state: Of its tasks.
        is_busy: Whether calls are in flight, or about to be.
        is_paused: Whether somebody paused it.
        is_halted: Whether this process starts nothing more.
        called_off: Why it ends early; empty: it does not.
    """
    if is_busy:
        return Outlook(RunStatus.PAUSED if is_paused else RunStatus.RUNNING)
    schedule = state.schedule
    if schedule.is_settled:
        status = _verdict(state, called_off)
        if status.is_final:
            return Outlook(status)
    if schedule.is_layer_complete:
        return Outlook(RunStatus.PAUSED, is_at_layer=True)
    if is_paused:
        return Outlook(RunStatus.PAUSED)
    if is_halted or state.queues:
        return Outlook(RunStatus.RUNNING)
    return Outlook(RunStatus.WAITING if state.is_waiting else RunStatus.UNKNOWN)


def kind(found: Outlook, *, before: RunStatus) -> str:
    """Return the kind of the event that tells how a run stands."""
    if found.is_at_layer:
        return events.LAYER_COMPLETE
    if found.status.is_final:
        return events.RUN_ENDED
    if before is RunStatus.QUEUED and found.status is RunStatus.RUNNING:
        return events.RUN_STARTED
    return _EVENTS[found.status]


def data(state: RunState, found: Outlook) -> Mapping[str, Any]:
    """Return what the event of a new status carries."""
    if found.is_at_layer:
        return {"layer": state.schedule.layer, "of": state.schedule.layers}
    return {"status": found.status.value} if found.status.is_final else {}


def why(state: RunState, found: Outlook, called_off: str) -> tuple[str, str]:
    """Return why a run failed, as a code and a line; empty where it did not."""
    if found.status is not RunStatus.FAILED:
        return "", ""
    if called_off:
        return called_off, "the time for the run was up before it was done"
    if state.cause is None:
        return "nothing_succeeded", "no task succeeded"
    return state.cause.code, f"task {state.cause.task!r}: {state.cause.message}"


def _verdict(state: RunState, called_off: str) -> RunStatus:
    """Return what a settled run has come to; one that was done in time is not called off."""
    verdict = state.schedule.verdict()
    is_cut_short = state.is_cut_short or state.schedule.has(TaskStatus.CANCELLED)
    if not called_off or (verdict is RunStatus.SUCCEEDED and not is_cut_short):
        return verdict
    return RunStatus.ABORTED if called_off == ABORTED else RunStatus.FAILED


class Told:
    """What was last told of how a run stands.

    Attributes:
        status: Of the run.
        is_at_layer: Whether it was told that the open layers are complete.
    """

    def __init__(self, status: RunStatus) -> None:
        self.status = status
        self.is_at_layer = False

    def settle(self, state: RunState, found: Outlook, called_off: str, at: datetime) -> None:
        """Put it into the draft if the run stands otherwise by now."""
        if found.status is not self.status or (found.is_at_layer and not self.is_at_layer):
            self.tell(state, found, called_off, at)
        self.is_at_layer = found.is_at_layer

    def tell(self, state: RunState, found: Outlook, called_off: str, at: datetime) -> None:
        """Put into the draft how a run stands."""
        code, error = why(state, found, called_off)
        state.draft.status(found.status, code=code, error=error)
        state.draft.event(kind(found, before=self.status), at, data(state, found))
        self.status = found.status
