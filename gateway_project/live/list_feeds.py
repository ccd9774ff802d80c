"""Feeds of lists: long ones, of which the changed rows are sent, and short ones, sent whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple
from uuid import UUID

import django.db

from execution.store import approvals, grants, speculations, views
from execution.view import ApprovalView, RunSummary
from gateway_project.access.roles import APPROVE
from gateway_project.foundation import notify
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import Notification
from gateway_project.foundation.text import strip_invisible
from gateway_project.live.feed import Feed, Viewer, encode_message
from gateway_project.runs import run_json
from tools.store import overview
from tools.store.overview import ServerSummary

START_ROWS: Final = 50
"""Newest rows that a viewer gets first, as many as a page of the console lists."""
MAX_CHANGED: Final = 500
"""Changed rows read at once; if there are more, the viewers get their newest rows instead."""


class RowFeed(Feed):
    """Reads the rows that notifications name, once for all viewers."""

    pause_s: ClassVar = 0.25

    def __init__(self) -> None:
        super().__init__()
        self._changed: set[str] = set()
        self._is_gap = False

    def handle_notification(self, notification: Notification | None) -> None:
        """Note which rows changed; None: any of them may have."""
        if notification is None:
            self._is_gap = True
        elif self.is_concerned(notification):
            self._changed.update(self.list_changed(notification))
            self._is_gap = self._is_gap or len(self._changed) > MAX_CHANGED
        super().handle_notification(notification)

    def list_changed(self, notification: Notification) -> Sequence[str]:
        """Return the ids of the rows that a notification is about."""
        return [one for one in notification.payload.split(",") if one]

    async def load_start(self, viewer: Viewer, *, after: int) -> Sequence[str]:  # noqa: ARG002
        """Return the newest rows that the viewer may see."""
        message = await run_in_database_thread(self.read_start, viewer)
        return [encode_message(message)]

    async def publish_changes(self) -> None:
        """Read the changed rows; put to each viewer those that they may see."""
        changed, self._changed = self._changed, set()
        is_gap, self._is_gap = self._is_gap, False
        if is_gap:
            try:
                for mailbox, viewer in list(self._viewers.items()):
                    for message in await self.load_start(viewer, after=0):
                        mailbox.put(message)
            except django.db.Error:
                self._is_gap = True  # sent when the database is back
                raise
            return
        try:
            rows = await run_in_database_thread(self.read_changes, frozenset(changed))
        except django.db.Error:
            self._changed |= changed  # read when the database is back
            raise
        for mailbox, viewer in self._viewers.items():
            if found := self.describe_changes(rows, viewer):
                mailbox.put(encode_message(found))

    @abstractmethod
    def read_start(self, viewer: Viewer) -> Mapping[str, Any]:
        """Read the message with which a viewer is up to date; blocking."""

    @abstractmethod
    def read_changes(self, changed: frozenset[str]) -> Any:
        """Read the rows of all teams that changed; blocking."""

    @abstractmethod
    def describe_changes(self, rows: Any, viewer: Viewer) -> Mapping[str, Any] | None:
        """Return the message with those rows that a viewer may see; None: none."""


class RunsFeed(RowFeed):
    """Summaries of the runs that a viewer sees in their list."""

    channels: ClassVar = frozenset({notify.RUNS, notify.RUN_WORK})

    def read_start(self, viewer: Viewer) -> Mapping[str, Any]:
        """Read the newest runs that a viewer may see."""
        found = views.load_summaries(
            None if viewer.caller.has_scope(SCOPE_ALL) else viewer.caller,
            teams=viewer.approver.teams,
            limit=START_ROWS,
        )
        return {"type": "start", "runs": [run_json.summary_to_json(row) for row in found]}

    def read_changes(self, changed: frozenset[str]) -> Sequence[RunSummary]:
        """Read the summaries of runs that changed."""
        if not changed:
            return []
        return views.load_summaries(None, runs=[UUID(run) for run in changed], limit=MAX_CHANGED)

    def describe_changes(
        self, rows: Sequence[RunSummary], viewer: Viewer
    ) -> Mapping[str, Any] | None:
        """Return the changed runs of the viewer and of the teams that they administer."""
        own = [run_json.summary_to_json(row) for row in rows if _can_see_run(row, viewer)]
        return {"type": "runs", "runs": own} if own else None


class _SpeculationChanges(NamedTuple):
    """The switch, whether it differs from before, and the predictions that changed."""

    is_on: bool
    is_switched: bool
    predictions: Sequence[Any]


class SpeculationsFeed(RowFeed):
    """Predictions that were made or resolved, and the switch of all speculation."""

    channels: ClassVar = frozenset({notify.PREDICTIONS, notify.SPECULATION})

    def __init__(self) -> None:
        super().__init__()
        self._was_on: bool | None = None

    def list_changed(self, notification: Notification) -> Sequence[str]:
        """Return the ids of predictions; the other channel is about the switch and budgets."""
        is_about_rows = notification.channel == notify.PREDICTIONS
        return super().list_changed(notification) if is_about_rows else ()

    def read_start(self, viewer: Viewer) -> Mapping[str, Any]:  # noqa: ARG002 - the same for all
        """Read the switch; the page has listed the predictions."""
        is_on = grants.is_speculation_on()
        if self._was_on is None:
            self._was_on = is_on
        return {"type": "start", "is_on": is_on}

    def read_changes(self, changed: frozenset[str]) -> _SpeculationChanges:
        """Read the switch and the predictions that changed."""
        rows = speculations.load_rows([UUID(pk) for pk in changed]) if changed else []
        is_on = grants.is_speculation_on()
        is_switched, self._was_on = is_on != self._was_on, is_on
        return _SpeculationChanges(is_on, is_switched, rows)

    def describe_changes(
        self, rows: _SpeculationChanges, viewer: Viewer
    ) -> Mapping[str, Any] | None:
        """Return the switch, and the predictions that the viewer may see."""
        own = [
            {"id": str(row.pk), "outcome": row.outcome, "shadow": row.shadow}
            for row in rows.predictions
            if _can_see_speculation(row, viewer)
        ]
        if rows.predictions and not own and not rows.is_switched:  # only those of others changed
            return None
        return {"type": "speculations", "is_on": rows.is_on, "speculations": own}


class SnapshotFeed(Feed):
    """Reads all rows once, and puts to each viewer those that they may see, if they changed."""

    pause_s: ClassVar = 0.25

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Any] | None = None

    @abstractmethod
    def read_rows(self) -> Sequence[Any]:
        """Read the rows of all teams; blocking."""

    @abstractmethod
    def describe_rows(self, rows: Sequence[Any], viewer: Viewer) -> Mapping[str, Any]:
        """Return the message with those rows that a viewer may see."""

    async def load_start(self, viewer: Viewer, *, after: int) -> Sequence[str]:  # noqa: ARG002
        """Return the rows as they are now."""
        await self.publish_changes()
        return [encode_message(self.describe_rows(self._rows or (), viewer))]

    async def publish_changes(self) -> None:
        """Read the rows; put them to the viewers for whom they differ from before."""
        rows = await run_in_database_thread(self.read_rows)
        before, self._rows = self._rows, rows
        if before is None or before == rows:
            return
        for mailbox, viewer in self._viewers.items():
            message = self.describe_rows(rows, viewer)
            if message != self.describe_rows(before, viewer):
                mailbox.put(encode_message(message))


class ApprovalsFeed(SnapshotFeed):
    """Calls that wait for a decision of the viewer."""

    scope_needed: ClassVar = APPROVE
    channels: ClassVar = frozenset({notify.RUNS, notify.RUN_WORK})

    def read_rows(self) -> Sequence[ApprovalView]:
        """Read what is pending, without arguments."""
        return approvals.load_pending()

    def describe_rows(self, rows: Sequence[ApprovalView], viewer: Viewer) -> Mapping[str, Any]:
        """Return the approvals that the viewer may decide."""
        own = [row for row in rows if viewer.approver.may_decide(row.team, row.user)]
        return {
            "type": "approvals",
            "pending": [
                {"id": str(row.id), "run": str(row.run), "tool": strip_invisible(row.tool)}
                for row in own
            ],
        }


class ServersFeed(SnapshotFeed):
    """Conditions of the servers that the viewer may know of."""

    channels: ClassVar = frozenset({notify.CATALOGUE, notify.SERVER_STATUS})

    def read_rows(self) -> Sequence[ServerSummary]:
        """Read the recorded conditions of all servers."""
        return overview.load_server_summaries()

    def describe_rows(self, rows: Sequence[ServerSummary], viewer: Viewer) -> Mapping[str, Any]:
        """Return the servers of the viewer's team and the shared ones."""
        caller = viewer.caller
        return {
            "type": "servers",
            "servers": [
                {
                    "name": row.name,
                    "state": row.state,
                    "enabled": row.enabled,
                    "usable": row.usable,
                    "quarantined": row.quarantined,
                    "pending": row.pending,
                    "last_error": strip_invisible(row.last_error),
                }
                for row in (each.limit_to(caller) for each in rows)
                if caller.has_scope(SCOPE_ALL) or caller.can_see_team(row.team_pk)
            ],
        }


def _can_see_run(row: RunSummary, viewer: Viewer) -> bool:
    """Whether a run is in the viewer's list, as `views.load_summaries` decides."""
    caller = viewer.caller
    return (
        caller.has_scope(SCOPE_ALL)
        or (row.user == caller.user and row.team == caller.team)
        or row.team in viewer.approver.teams
    )


def _can_see_speculation(row: Any, viewer: Viewer) -> bool:
    """Whether a prediction is in the viewer's list, as `speculations.load_page` decides."""
    caller = viewer.caller
    is_own = row.team_id is not None and row.team_id == caller.owner
    return bool(is_own or caller.has_scope(SCOPE_ALL))
