"""Feeds of lists that are short enough to be sent whole: pending approvals, and servers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from execution.store import approvals
from execution.view import ApprovalView
from gateway_project.foundation import notify
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.text import strip_invisible
from gateway_project.live.feed import Feed, encode_message
from gateway_project.live.viewers import Viewer
from tools.store import overview
from tools.store.overview import ServerSummary


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
