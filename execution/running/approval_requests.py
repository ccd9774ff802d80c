"""Approval requests of a run's calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from execution.call import ApprovalGrant, PreparedCall
from execution.changes import TaskKey
from execution.running.failure import ApprovalUnusable

MAX_PENDING: Final = 100
"""Pending approvals per run; nobody reviews more at a time."""


class AskedApproval(NamedTuple):
    """A requested approval, and its grant once given."""

    definition_hash: str
    arguments_digest: str
    approval: UUID | None = None

    def make_grant(self, prepared: PreparedCall) -> ApprovalGrant | None:
        """Return the grant for a prepared call; None: not approved yet.

        Raises:
            ApprovalUnusable: If another call was approved.
        """
        if self.approval is None:
            return None
        if self[:2] != (prepared.definition_hash, prepared.arguments_digest):
            raise ApprovalUnusable
        return ApprovalGrant(
            approval=self.approval,
            tool=prepared.tool,
            definition_hash=prepared.definition_hash,
            arguments_digest=prepared.arguments_digest,
        )


class PendingApprovals:
    """Tracks pending, granted and deferred approvals.

    Args:
        asked: Calls whose approval is pending or granted.
    """

    def __init__(self, asked: Mapping[TaskKey, AskedApproval]) -> None:
        self.asked = dict(asked)
        """Requested approvals by call; empty for nearly every run."""
        self._waiting = {key for key, one in asked.items() if one.approval is None}
        self.deferred: deque[TaskKey] = deque()
        """Calls whose request is deferred."""
        self._asked_tasks = {task for task, _ in asked}

    def request_approval(self, key: TaskKey, prepared: PreparedCall) -> bool:
        """Register a request; False: too many are pending, so it is deferred."""
        self._asked_tasks.add(key[0])
        if self.defer_if_full(key):
            return False
        self.asked[key] = AskedApproval(prepared.definition_hash, prepared.arguments_digest)
        self._waiting.add(key)
        return True

    def defer_if_full(self, key: TaskKey) -> bool:
        """Defer a call if too many are pending and its task has asked before; return whether."""
        if len(self._waiting) < MAX_PENDING or key[0] not in self._asked_tasks:
            return False
        if key in self.asked:
            return False
        self.deferred.append(key)
        return True

    def take_deferred(self) -> list[TaskKey]:
        """Return the deferred calls that may ask now."""
        room = max(MAX_PENDING - len(self._waiting), 0)
        return [self.deferred.popleft() for _ in range(min(room, len(self.deferred)))]

    def take_grant(self, key: TaskKey, prepared: PreparedCall) -> ApprovalGrant | None:
        """Return the grant for a call; None if it needs none, or none was requested.

        Raises:
            ApprovalUnusable: If another call was approved.
        """
        asked = self.asked.get(key)
        self.withdraw(key)
        return asked.make_grant(prepared) if asked and prepared.approval_reason else None

    def find(self, key: TaskKey) -> AskedApproval | None:
        """Return the request for a call; None: none."""
        return self.asked.get(key)

    def approve(self, key: TaskKey, approval: UUID) -> None:
        """Record that a person approved a call."""
        self.asked[key] = self.asked[key]._replace(approval=approval)
        self._waiting.discard(key)

    def withdraw(self, key: TaskKey) -> None:
        """Drop the request for a call."""
        self.asked.pop(key, None)
        self._waiting.discard(key)

    def list_asked(self) -> list[TaskKey]:
        """Return the calls with requests that have not been made."""
        return list(self.asked)

    def list_waiting(self) -> list[TaskKey]:
        """Return the calls whose approval is pending."""
        return list(self._waiting)

    def forget_deferred(self) -> None:
        """Forget deferred calls; all ready calls are queued again."""
        self.deferred.clear()
