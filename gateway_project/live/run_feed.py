"""The feed of one run: its events by number, and its state.

The state holds no payloads, so it is the same for all viewers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final
from uuid import UUID

from django.conf import settings

from execution.changes import WHOLE_TASK, RunEvent
from execution.store import views
from execution.store.runs import UnknownRun
from execution.view import ApprovalView, RunView, TaskView
from gateway_project.foundation import notify, sealing
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import Notification
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.text import strip_invisible
from gateway_project.live.feed import UNKNOWN, Feed, Viewer, encode_message
from gateway_project.runs import run_json
from gateway_project.runs.timeline import build_timeline
from gateway_project.use_cases import control_run

EVENT_PAGE: Final = 1_000
KEPT_EVENTS: Final = 1_000
"""Newest events kept in memory, so that viewers who connect again need no read each."""
MAX_TASKS: Final = 2_000
"""Tasks and items of a run that are followed live; the page says how many more there are."""


class RunFeed(Feed):
    """Events and state of one run, for viewers who were found to be allowed to see it.

    However many look on, an event costs two reads per process. Every event reaches every viewer
    once, in order: a viewer who connects says the number of the last one they know.

    Args:
        run: Id of the run.
    """

    channels: ClassVar = frozenset({notify.RUNS, notify.RUN_WORK})
    poll_s: ClassVar = 5.0

    def __init__(self, run: UUID) -> None:
        super().__init__()
        self._run = run
        self._id = str(run)
        self._sealer = _load_sealer()
        self._view: RunView | None = None
        self._events: deque[RunEvent] = deque(maxlen=KEPT_EVENTS)
        self._last_seq = 0

    @classmethod
    def check_visible(cls, viewer: Viewer, **place: Any) -> None:
        """Check that a viewer may see the run; blocking.

        Raises:
            UnknownRun: If not.
        """
        control_run.find_run(viewer.caller, place["run"], sealer=_load_sealer())

    def is_concerned(self, notification: Notification) -> bool:
        """Whether a notification is about this run."""
        return super().is_concerned(notification) and notification.payload == self._id

    async def load_start(self, viewer: Viewer, *, after: int) -> Sequence[str]:  # noqa: ARG002
        """Return the events that the viewer does not know, and the whole state."""
        if self._view is None or self._wake.is_set():
            await self.publish_changes()
        if self._view is None:
            return []
        is_ahead = after > self._last_seq  # the database was restored to an earlier state
        missed = await self._load_missed(0 if is_ahead else after)
        pages = cut_pages(missed, EVENT_PAGE)
        messages = [_make_message("events", events=page) for page in pages[:-1]]
        whole = _make_message(
            "start",
            events=pages[-1],
            is_reset=is_ahead,
            run=describe_run(self._view),
            tasks=describe_tasks(self._view, None),
        )
        return [encode_message(message) for message in (*messages, whole)]

    async def publish_changes(self) -> None:
        """Read new events and the state; put them to the viewers."""
        try:
            events, view = await run_in_database_thread(self._load_changes)
        except UnknownRun:  # it was deleted
            self.end_viewers(UNKNOWN)
            return
        before, self._view = self._view, view
        if before is None:
            self._remember(events)
            return
        for page in cut_pages(events, EVENT_PAGE)[:-1]:
            self.publish(_make_message("events", events=page))
        self._remember(events)
        if events or view != before:
            last = cut_pages(events, EVENT_PAGE)[-1]
            self.publish(
                _make_message(
                    "changes",
                    events=last,
                    run=describe_run(view),
                    tasks=describe_tasks(view, before),
                    removed=list_removed(view, before),
                )
            )

    def _remember(self, events: Sequence[RunEvent]) -> None:
        self._events.extend(events)
        if events:
            self._last_seq = events[-1].seq

    def _load_changes(self) -> tuple[list[RunEvent], RunView]:
        """Load the state, then the events up to the number that it has."""
        view = self._load_view()
        if self._view is None:
            self._last_seq = max(0, view.last_seq - KEPT_EVENTS)
        found = _load_events(self._run, after=self._last_seq)
        return [event for event in found if event.seq <= view.last_seq], view

    def _load_view(self) -> RunView:
        return views.load_view(self._run, caller=None, sealer=self._sealer, results=False)

    async def _load_missed(self, after: int) -> list[RunEvent]:
        if after >= self._last_seq:
            return []
        if self._events and after >= self._events[0].seq - 1:
            return [event for event in self._events if event.seq > after]
        found = await run_in_database_thread(_load_events, self._run, after=after)
        # What came since is published to everybody, this viewer included.
        return [event for event in found if event.seq <= self._last_seq]


def _load_events(run: UUID, *, after: int) -> list[RunEvent]:
    found: list[RunEvent] = []
    while True:
        page = views.load_events(run, after=after, limit=EVENT_PAGE)
        found += page
        if len(page) < EVENT_PAGE:
            return found
        after = page[-1].seq


def _make_message(kind: str, *, events: Sequence[RunEvent], **fields: Any) -> dict[str, Any]:
    return {"type": kind, "events": [run_json.event_to_json(event) for event in events], **fields}


def _load_sealer() -> Sealer:
    """Return what loading runs requires; no payload is opened."""
    return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)


def describe_run(view: RunView) -> dict[str, Any]:
    """Return what a page shows of a run as a whole."""
    return {
        "status": view.status.value,
        "is_final": view.status.is_final,
        "version": view.version,
        "last_seq": view.last_seq,
        "started_at": _format_iso(view.started_at),
        "ended_at": _format_iso(view.ended_at),
        "error_code": view.error_code,
        "more_tasks": max(0, len(view.tasks) - MAX_TASKS),
        "waits_for": [_describe_approval(one) for one in view.pending_approvals],
        "timeline": build_timeline(view).as_json(),
    }


def describe_tasks(view: RunView, before: RunView | None) -> list[dict[str, Any]]:
    """Return the tasks that differ from an earlier view of the run; None: all."""
    known = {} if before is None else {(task.task, task.item): task for task in before.tasks}
    return [
        _describe_task(task)
        for task in view.tasks[:MAX_TASKS]
        if known.get((task.task, task.item)) != task
    ]


def list_removed(view: RunView, before: RunView | None) -> list[str]:
    """Return the tasks that a new workflow no longer has."""
    if before is None or before.version == view.version:
        return []
    kept = {task.task for task in view.tasks}
    return sorted({task.task for task in before.tasks} - kept)


def _describe_task(task: TaskView) -> dict[str, Any]:
    described: dict[str, Any] = {
        "task": task.task,
        "tool": strip_invisible(task.tool),
        "status": task.status.value,
        "attempts": task.attempts,
        "started_at": _format_iso(task.started_at),
        "ended_at": _format_iso(task.ended_at),
        "duration_ms": task.duration_ms,
        "error_code": task.error_code,
        "result_bytes": task.result_bytes,
    }
    return described if task.item == WHOLE_TASK else described | {"item": task.item}


def _describe_approval(approval: ApprovalView) -> Mapping[str, Any]:
    return {
        "id": str(approval.id),
        "task": approval.task,
        "tool": strip_invisible(approval.tool),
        "reason": strip_invisible(approval.reason),
        "expires_at": approval.expires_at.isoformat(),
    }


def _format_iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if moment else None


def cut_pages(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Cut a sequence into pages; one empty page of none.

    Example:
        >>> cut_pages([1, 2, 3], 2), cut_pages([], 2)
        ([[1, 2], [3]], [[]])
    """
    return [items[start : start + size] for start in range(0, len(items), size)] or [items]
