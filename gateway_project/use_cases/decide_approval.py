"""Decide whether a call is made: by a person who may, and written down with the decision.

What a model sends never gets here: it is called by pages of the console, by a command, and with
the answer that a client's user gave to a question of the gateway.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from django.db import transaction

from execution.changes import WHOLE_TASK
from execution.control import NotPossible
from execution.store import approvals, payloads
from execution.store.approvals import NotPending, UnknownApproval
from execution.view import ApprovalView, RunView
from gateway_project.access import audit
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import SealBroken, Sealer
from tools.store import overview

Via = Literal["console", "command", "elicitation"]
"""How a person said it."""
MAX_SHOWN: Final = 50
MAX_TOLD: Final = 100
"""Characters of what is no id that an error repeats."""
NOT_WAITING: Final = "run_not_waiting"
"""Code of a run of which nothing waits for a person."""


@dataclass(frozen=True, kw_only=True)
class Approver:
    """What somebody may decide.

    Attributes:
        user: Their name; their own calls they may.
        teams: Primary keys of the teams that they are an admin of.
        is_superuser: Whether they may decide all calls.
    """

    user: str
    teams: frozenset[int]
    is_superuser: bool

    def may_decide(self, team: int | None, user: str) -> bool:
        """Whether they may decide a call of a user who acts for a team.

        Example:
            >>> ann = Approver(user="ann", teams=frozenset({1}), is_superuser=False)
            >>> ann.may_decide(None, "ann"), ann.may_decide(1, "bob"), ann.may_decide(2, "bob")
            (True, True, False)
        """
        return self.is_superuser or user == self.user or (team is not None and team in self.teams)

    @property
    def users(self) -> Collection[str] | None:
        """Users whose calls they may decide whatever the team; None: all."""
        return None if self.is_superuser else (self.user,)


def approver(caller: Caller) -> Approver:
    """Return what a caller may decide as things stand now."""
    return Approver(
        user=caller.user,
        teams=overview.administered_by(caller.user),
        is_superuser=caller.may(SCOPE_ALL),
    )


def decide(caller: Caller, approval: UUID, *, approve: bool, via: Via) -> ApprovalView:
    """Approve or reject a call, and write it down; both or neither.

    Args:
        caller: The person who decides.
        approval: Primary key.
        approve: Whether the call may be made.
        via: How they said it.

    Raises:
        UnknownApproval: If there is none that they may decide.
        NotPending: If it is decided already, or it is too late.
    """
    allowed = approver(caller).may_decide
    with transaction.atomic():
        decided = approvals.decide(
            approval, approve=approve, by=caller.user, via=via, allowed=allowed
        )
        audit.record(
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
    return decided


def waiting(view: RunView, action: str, approval: str = "") -> tuple[ApprovalView, ...]:
    """Return what of a run a person is to be asked about.

    Args:
        view: How the run stands.
        action: What is to be decided, for the error.
        approval: Id of the one meant, of several; empty: all that wait.

    Raises:
        UnknownApproval: If the run has none such.
        NotPending: If that one was decided, used or withdrawn before, or has expired.
        NotPossible: If none waits.
    """
    if approval:
        one = next((one for one in view.approvals if str(one.id) == approval), None)
        if one is None:
            raise UnknownApproval(approval[:MAX_TOLD])
        if not one.is_pending:
            raise NotPending(one.id, one.status)
        return (one,)
    if not view.pending:
        needs = f"{action} needs one of which a call waits for a person"
        raise NotPossible(NOT_WAITING, f"the run is {view.status.value}, and {needs}")
    return view.pending


def pending(caller: Caller) -> tuple[ApprovalView, ...]:
    """Return what waits for somebody like the caller, oldest first."""
    who = approver(caller)
    return approvals.pending(who.users, who.teams)


def recent(caller: Caller) -> tuple[ApprovalView, ...]:
    """Return what the caller might have decided and waits no more, newest first."""
    who = approver(caller)
    return approvals.recent(who.users, who.teams, limit=MAX_SHOWN)


def arguments(
    run: UUID, task: str, item: int = WHOLE_TASK, *, sealer: Sealer
) -> Mapping[str, Any] | None:
    """Return what a call that waits would be made with; None: it is not kept any more.

    Whether the asker may see it has been asked before.
    """
    try:
        found: Mapping[str, Any] | None = payloads.one(
            run, payloads.Kind.ARGUMENTS, task=task, item=item, sealer=sealer
        )
    except SealBroken:  # its key is gone, and so is what it says
        return None
    return found


def get(caller: Caller, approval: UUID, *, sealer: Sealer) -> ApprovalView:
    """Return an approval that the caller may decide, with the exact arguments.

    Raises:
        UnknownApproval: If there is none such.
    """
    return approvals.get(approval, allowed=approver(caller).may_decide, sealer=sealer)
