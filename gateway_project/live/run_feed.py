"""The feed of one run: its events by number, and its state."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, Final
from uuid import UUID

from execution.changes import RunEvent
from execution.store import views
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import Notification
from gateway_project.foundation.sealing import Sealer
from gateway_project.live import run_state
from gateway_project.live.feed import Feed, encode_message
from gateway_project.live.mailbox import UNKNOWN
from gateway_project.live.viewers import Viewer
from gateway_project.runs import run_json

EVENT_PAGE: Final = 1_000
KEPT_EVENTS: Final = 1_000
"""Newest events kept in memory, so that viewers who connect again need no read each."""


class RunFeed(Feed):
    """Events and state of one run, for viewers who were found to be allowed to see it.

    However many look on, an event costs two reads per process. Every event reaches every viewer
    once, in order: a viewer who connects says the number of the last one they know.

    Args:
        run: Id of the run.
        sealer: Required to load runs; no payload is opened.
    """

    channels: ClassVar = frozenset({notify.RUNS, notify.RUN_WORK})
    poll_s: ClassVar = 5.0

    def __init__(self, run: UUID, *, sealer: Sealer) -> None:
        super().__init__()
        self._run = run
        self._id = str(run)
        self._sealer = sealer
        self._view: RunView | None = None
        self._events: deque[RunEvent] = deque(maxlen=KEPT_EVENTS)
        self._last_seq = 0

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
        pages = run_state.cut_pages(missed, EVENT_PAGE)
        messages = [_make_message("events", events=page) for page in pages[:-1]]
        whole = _make_message(
            "start",
            events=pages[-1],
            is_reset=is_ahead,
            run=run_state.describe_run(self._view),
            tasks=run_state.describe_tasks(self._view, None),
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
        for page in run_state.cut_pages(events, EVENT_PAGE)[:-1]:
            self.publish(_make_message("events", events=page))
        self._remember(events)
        if events or view != before:
            last = run_state.cut_pages(events, EVENT_PAGE)[-1]
            self.publish(
                _make_message(
                    "changes",
                    events=last,
                    run=run_state.describe_run(view),
                    tasks=run_state.describe_tasks(view, before),
                    removed=run_state.list_removed(view, before),
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
