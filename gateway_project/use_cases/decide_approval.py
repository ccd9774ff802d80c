"""Approve or reject calls, with permission checks and an audit entry.

Model input never reaches this module: it is called by the console, by a command, and with a
user's answer to an elicitation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from django.db import transaction

from execution.changes import WHOLE_TASK
from execution.control import ActionNotPossible
from execution.store import approvals, payloads
from execution.store.approvals import ApprovalNotPending, UnknownApproval
from execution.view import ApprovalView, RunView
from gateway_project.access import audit
from gateway_project.access.roles import APPROVE, require_scope
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from gateway_project.foundation.user_error import UserError
from learning.store import events
from tools.store import overview, teams

DecisionChannel = Literal["console", "command", "elicitation", "api"]
"""How a person gave the decision."""
MAX_RECENT: Final = 50
MAX_ID_CHARS: Final = 100
"""Characters of an invalid id that an error repeats."""
NOT_WAITING_CODE: Final = "run_not_waiting"
"""Error code of a run without pending approvals."""


class SecondPersonRequired(UserError):
    """The team requires that somebody else than the user who makes a call approves it."""

    code = "second_person_required"

    def __init__(self, approval: UUID) -> None:
        super().__init__(
            f"approval {approval} is of your own call, which your team has somebody else approve: "
            "ask another admin of the team, or a superuser"
        )


@dataclass(frozen=True, kw_only=True)
class Approver:
    """A person with the calls they may decide.

    Attributes:
        user: Their name; they may decide their own calls.
        teams: Primary keys of the teams they administer.
        is_superuser: Whether they may decide all calls.
    """

    user: str
    teams: frozenset[int]
    is_superuser: bool

    def may_decide(self, team: int | None, user: str) -> bool:
        """Whether they may decide a user's call on behalf of a team.

        Example:
            >>> ann = Approver(user="ann", teams=frozenset({1}), is_superuser=False)
            >>> ann.may_decide(None, "ann"), ann.may_decide(1, "bob"), ann.may_decide(2, "bob")
            (True, True, False)
        """
        return self.is_superuser or user == self.user or (team is not None and team in self.teams)

    @property
    def decidable_users(self) -> Collection[str] | None:
        """Users whose calls they may decide regardless of the team; None: all."""
        return None if self.is_superuser else (self.user,)


def load_approver(caller: Caller) -> Approver:
    """Return a caller's current permissions to decide."""
    return Approver(
        user=caller.user,
        teams=overview.load_administered_teams(caller.user),
        is_superuser=caller.has_scope(SCOPE_ALL),
    )


def decide_approval(
    caller: Caller, approval: UUID, *, approve: bool, via: DecisionChannel
) -> ApprovalView:
    """Approve or reject a call, audit and remember it, in one transaction.

    Args:
        caller: The deciding person.
        approval: Primary key.
        approve: Whether the call may be made.
        via: How they gave the decision. The user whom a client asks about a call needs no scope
            but that of the call.

    Raises:
        NotPermitted: If they lack the scope.
        UnknownApproval: If there is none that they may decide.
        ApprovalNotPending: If it is already decided or expired.
        SecondPersonRequired: If they approve their own call for a team that excludes this.
    """
    if via != "elicitation":
        require_scope(caller, APPROVE)
    allowed = load_approver(caller).may_decide
    with transaction.atomic():
        decided = approvals.decide_approval(
            approval, approve=approve, by=caller.user, via=via, allowed=allowed
        )
        is_own = decided.user == caller.user
        if approve and is_own and teams.requires_second_person(decided.team, caller.user):
            raise SecondPersonRequired(approval)
        audit.record_audit(
            caller,
            "approval.approved" if approve else "approval.rejected",
            decided.tool,
            detail={
                "approval": str(decided.id),
                "run": str(decided.run),
                "task": decided.task,
                "for": decided.user,
                "via": via,
            },
        )
        events.record_person_decision(
            run=decided.run,
            tool=decided.tool,
            team=teams.find_contributor(decided.user, decided.team).owner,
            approved=approve,
            via=via,
            asked_at=decided.created_at,
            decided_at=decided.decided_at or decided.created_at,
        )
    return decided


def load_waiting(view: RunView, action: str, approval: str = "") -> tuple[ApprovalView, ...]:
    """Return the pending approvals of a run, or one of them.

    Args:
        view: The run.
        action: The requested action, for the error.
        approval: Id of one of them; empty: all.

    Raises:
        UnknownApproval: If the run has no such approval.
        ApprovalNotPending: If it is already decided, used, withdrawn or expired.
        ActionNotPossible: If none is pending.
    """
    if approval:
        found = next((item for item in view.approvals if str(item.id) == approval), None)
        if found is None:
            raise UnknownApproval(approval[:MAX_ID_CHARS])
        if not found.is_pending:
            raise ApprovalNotPending(found.id, found.status)
        return (found,)
    if not view.pending_approvals:
        needs = f"{action} requires one with a call that waits for a person"
        raise ActionNotPossible(NOT_WAITING_CODE, f"the run is {view.status.value}, but {needs}")
    return view.pending_approvals


def load_pending(caller: Caller) -> tuple[ApprovalView, ...]:
    """Return the pending approvals that the caller may decide, oldest first."""
    approver = load_approver(caller)
    return approvals.load_pending(approver.decidable_users, approver.teams)


def count_pending(caller: Caller, *, most: int) -> int:
    """Count the pending approvals that the caller may decide, up to a limit."""
    approver = load_approver(caller)
    return approvals.count_pending(approver.decidable_users, approver.teams, most=most)


def load_recent(caller: Caller) -> tuple[ApprovalView, ...]:
    """Return the past approvals that the caller could have decided, newest first."""
    approver = load_approver(caller)
    return approvals.load_recent(approver.decidable_users, approver.teams, limit=MAX_RECENT)


def load_arguments(
    run: UUID, task: str, item: int = WHOLE_TASK, *, sealer: Sealer
) -> Mapping[str, Any] | None:
    """Return the arguments of a pending call; None: they are deleted.

    The caller of this function has checked the permission.
    """
    try:
        arguments: Mapping[str, Any] | None = payloads.load_payload(
            run, payloads.PayloadKind.ARGUMENTS, task=task, item=item, sealer=sealer
        )
    except UnsealingFailed:  # the key is lost, and the content with it
        return None
    return arguments


def load_all_arguments(
    views: Collection[ApprovalView], *, sealer: Sealer
) -> Mapping[UUID, Mapping[str, Any]]:
    """Return the arguments of pending calls by approval, in one query; deleted ones are missing.

    The caller of this function has checked the permissions.
    """
    sealed = payloads.load_sealed_arguments([(one.run, (one.task, one.item)) for one in views])
    found = {}
    for one in views:
        if (content := sealed.get((one.run, (one.task, one.item)))) is None:
            continue
        try:
            found[one.id] = payloads.open_payload(content, sealer=sealer)
        except UnsealingFailed:  # the key is lost, and the content with it
            continue
    return found


def load_approval(caller: Caller, approval: UUID, *, sealer: Sealer) -> ApprovalView:
    """Return an approval that the caller may decide, with the exact arguments.

    Raises:
        UnknownApproval: If there is none that they may decide.
    """
    return approvals.load_approval(
        approval, allowed=load_approver(caller).may_decide, sealer=sealer
    )
