"""The timeline of a run's calls, and the time saved by running them in parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from execution.changes import WHOLE_TASK
from execution.status import TaskStatus
from execution.view import RunView, TaskView

META_KEY: Final = "foregate/run"
"""Key of a result's metadata under which programs find the timeline of a run."""
MAX_SPANS: Final = 200
"""Calls listed for programs; the rest are counted."""
_FILLED_CELL: Final = "█"
_DIGITS: Final = 1


@dataclass(frozen=True, kw_only=True)
class TimelineSpan:
    """A call in the time of its run.

    Attributes:
        task: Id of its task.
        item: Index in the list that the task runs for; -1: it runs once.
        tool: Canonical id.
        status: Its current or final status.
        start_ms: Start, since the first start in the run.
        end_ms: End, likewise; for a call in progress, when the run last changed.
    """

    task: str
    tool: str
    status: str
    start_ms: float
    end_ms: float
    item: int = WHOLE_TASK

    @property
    def label(self) -> str:
        """Label of the call's row."""
        return self.task if self.item == WHOLE_TASK else f"{self.task}[{self.item}]"

    @property
    def duration_ms(self) -> float:
        """Duration of the call."""
        return self.end_ms - self.start_ms

    @property
    def has_known_end(self) -> bool:
        """Whether the outcome is known; otherwise `end_ms` is when the call was given up."""
        return self.status != TaskStatus.UNKNOWN.value


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The calls of a run.

    Attributes:
        spans: In the order of the workflow.
    """

    spans: tuple[TimelineSpan, ...]

    @property
    def known_spans(self) -> tuple[TimelineSpan, ...]:
        """Calls of known duration."""
        return tuple(span for span in self.spans if span.has_known_end)

    @property
    def elapsed_ms(self) -> float:
        """From the first start to the last end."""
        return max((span.end_ms for span in self.spans), default=0.0)

    @property
    def sequential_ms(self) -> float:
        """Time the known calls would have taken one after another."""
        return sum(span.duration_ms for span in self.known_spans)

    @property
    def busy_ms(self) -> float:
        """Time during which any known call was in progress; excludes waiting for people."""
        busy, until = 0.0, 0.0
        for span in sort_spans(self.known_spans):
            busy += max(0.0, span.end_ms - max(until, span.start_ms))
            until = max(until, span.end_ms)
        return busy

    @property
    def speed_up(self) -> float:
        """Speed-up over sequential calls; 1 if nothing was called.

        Example:
            >>> first = TimelineSpan(task="a", tool="s:t", status="succeeded", start_ms=0,
            ...     end_ms=10)
            >>> later = TimelineSpan(task="b", tool="s:t", status="succeeded", start_ms=90,
            ...     end_ms=95)
            >>> Timeline(spans=(first, first, later)).speed_up
            1.6666666666666667
        """
        return self.sequential_ms / self.busy_ms if self.busy_ms else 1.0

    def as_json(self) -> dict[str, Any]:
        """Return the timeline for programs, at most `MAX_SPANS` calls."""
        more = len(self.spans) - MAX_SPANS
        return {
            "elapsed_ms": round(self.elapsed_ms, _DIGITS),
            "sequential_ms": round(self.sequential_ms, _DIGITS),
            "speed_up": round(self.speed_up, 2),
            "calls": [_span_to_json(span) for span in self.spans[:MAX_SPANS]],
            **({"more_calls": more} if more > 0 else {}),
        }


def build_timeline(view: RunView) -> Timeline:
    """Build the timeline of a run's started calls.

    A task with items is represented by its items.
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
    return Timeline(spans=tuple(_make_span(task, first, view.changed_at) for task in calls))


def timeline_from_json(payload: Mapping[str, Any]) -> Timeline:
    """Parse the output of `Timeline.as_json`."""
    return Timeline(spans=tuple(TimelineSpan(**call) for call in payload["calls"]))


def draw_bar(span: TimelineSpan, *, whole_ms: float, width: int) -> str:
    """Draw a call as a bar on an axis of `width` characters.

    Example:
        >>> half = TimelineSpan(task="a", tool="s:t", status="succeeded", start_ms=50, end_ms=100)
        >>> draw_bar(half, whole_ms=100, width=8)
        '    ████'
    """
    if whole_ms <= 0:
        return _FILLED_CELL
    start = min(width - 1, int(span.start_ms / whole_ms * width))
    length = max(1, round(span.duration_ms / whole_ms * width))
    return " " * start + _FILLED_CELL * min(length, width - start)


def sort_spans(spans: Sequence[TimelineSpan]) -> list[TimelineSpan]:
    """Sort calls by their start."""
    return sorted(spans, key=lambda span: (span.start_ms, span.end_ms))


def _make_span(task: TaskView, first: datetime, last: datetime) -> TimelineSpan:
    start = task.started_at or first
    start_ms = _elapsed_ms(first, start)
    end_ms = _elapsed_ms(first, task.ended_at or max(last, start))
    return TimelineSpan(
        task=task.task,
        item=task.item,
        tool=task.tool,
        status=task.status.value,
        start_ms=start_ms,
        end_ms=max(start_ms, end_ms),
    )


def _elapsed_ms(first: datetime, then: datetime) -> float:
    return (then - first).total_seconds() * 1_000


def _span_to_json(span: TimelineSpan) -> dict[str, Any]:
    row = {
        "task": span.task,
        "tool": span.tool,
        "status": span.status,
        "start_ms": round(span.start_ms, _DIGITS),
        "end_ms": round(span.end_ms, _DIGITS),
    }
    return row if span.item == WHOLE_TASK else row | {"item": span.item}
