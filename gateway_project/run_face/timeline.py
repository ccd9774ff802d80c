"""When each call of a run was under way, and what running them side by side saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from execution.changes import WHOLE_TASK
from execution.status import TaskStatus
from execution.view import RunView, TaskView

META_KEY: Final = "foregate/run"
"""Of a result's metadata, where programs find the timeline of a run."""
MAX_SPANS: Final = 200
"""Calls that are told to programs, and how many there are beside; a person reads fewer."""
_FULL: Final = "█"
_DIGITS: Final = 1


@dataclass(frozen=True, kw_only=True)
class Span:
    """A call, on the clock of its run.

    Attributes:
        task: Id of its task.
        item: Place in the list that the task runs for; -1: it runs once.
        tool: Canonical id.
        status: How it ended, or stands.
        start_ms: From the first start of the run.
        end_ms: Likewise; of what is under way, when the run last changed.
    """

    task: str
    tool: str
    status: str
    start_ms: float
    end_ms: float
    item: int = WHOLE_TASK

    @property
    def label(self) -> str:
        """Name of the row."""
        return self.task if self.item == WHOLE_TASK else f"{self.task}[{self.item}]"

    @property
    def ms(self) -> float:
        """How long it took."""
        return self.end_ms - self.start_ms

    @property
    def is_known(self) -> bool:
        """Whether it is known how it ended; else its end is when it was given up."""
        return self.status != TaskStatus.UNKNOWN.value


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The calls of a run.

    Attributes:
        spans: In order of the workflow.
    """

    spans: tuple[Span, ...]

    @property
    def known(self) -> tuple[Span, ...]:
        """Those of which it is known how long they took."""
        return tuple(span for span in self.spans if span.is_known)

    @property
    def elapsed_ms(self) -> float:
        """From the first start to the last end."""
        return max((span.end_ms for span in self.spans), default=0.0)

    @property
    def sequential_ms(self) -> float:
        """What the known calls would have taken one after another."""
        return sum(span.ms for span in self.known)

    @property
    def busy_ms(self) -> float:
        """While any known call was under way: waiting for people is left out."""
        busy, until = 0.0, 0.0
        for span in ordered(self.known):
            busy += max(0.0, span.end_ms - max(until, span.start_ms))
            until = max(until, span.end_ms)
        return busy

    @property
    def speed_up(self) -> float:
        """How many times as fast as one after another; 1 where nothing was called.

        Example:
            >>> first = Span(task="a", tool="s:t", status="succeeded", start_ms=0, end_ms=10)
            >>> later = Span(task="b", tool="s:t", status="succeeded", start_ms=90, end_ms=95)
            >>> Timeline(spans=(first, first, later)).speed_up
            1.6666666666666667
        """
        return self.sequential_ms / self.busy_ms if self.busy_ms else 1.0

    def as_json(self) -> dict[str, Any]:
        """Return what programs are told."""
        more = len(self.spans) - MAX_SPANS
        return {
            "elapsed_ms": round(self.elapsed_ms, _DIGITS),
            "sequential_ms": round(self.sequential_ms, _DIGITS),
            "speed_up": round(self.speed_up, 2),
            "calls": [_call(span) for span in self.spans[:MAX_SPANS]],
            **({"more_calls": more} if more > 0 else {}),
        }


def timeline(view: RunView) -> Timeline:
    """Return the calls of a run that were started.

    What a task with items took stands with its items.
    """
    with_items = {task.task for task in view.tasks if task.item != WHOLE_TASK}
    calls = [
        task
        for task in view.tasks
        if task.started_at is not None
        and not (task.item == WHOLE_TASK and task.task in with_items)
    ]
    starts = [task.started_at for task in calls if task.started_at is not None]
    first = min(starts, default=view.created_at)
    return Timeline(spans=tuple(_span(task, first, view.changed_at) for task in calls))


def from_json(told: Mapping[str, Any]) -> Timeline:
    """Read what `Timeline.as_json` told."""
    return Timeline(spans=tuple(Span(**call) for call in told["calls"]))


def bar(span: Span, *, whole_ms: float, width: int) -> str:
    """Draw a call on a line of so many characters.

    Example:
        >>> half = Span(task="a", tool="s:t", status="succeeded", start_ms=50, end_ms=100)
        >>> bar(half, whole_ms=100, width=8)
        '    ████'
    """
    if whole_ms <= 0:
        return _FULL
    start = min(width - 1, int(span.start_ms / whole_ms * width))
    length = max(1, round(span.ms / whole_ms * width))
    return " " * start + _FULL * min(length, width - start)


def ordered(spans: Sequence[Span]) -> list[Span]:
    """Return calls as they are read: by their start."""
    return sorted(spans, key=lambda span: (span.start_ms, span.end_ms))


def _span(task: TaskView, first: datetime, last: datetime) -> Span:
    start = task.started_at or first
    start_ms = _ms(first, start)
    end_ms = _ms(first, task.ended_at or max(last, start))
    return Span(
        task=task.task,
        item=task.item,
        tool=task.tool,
        status=task.status.value,
        start_ms=start_ms,
        end_ms=max(start_ms, end_ms),
    )


def _ms(first: datetime, then: datetime) -> float:
    return (then - first).total_seconds() * 1_000


def _call(span: Span) -> dict[str, Any]:
    row = {
        "task": span.task,
        "tool": span.tool,
        "status": span.status,
        "start_ms": round(span.start_ms, _DIGITS),
        "end_ms": round(span.end_ms, _DIGITS),
    }
    return row if span.item == WHOLE_TASK else row | {"item": span.item}
