"""Tell a run what to do, as a person: who may, what it can do, and written down with it.

What a model sends never gets here: it is called by a page of the console and by a command. Only
so are calls made again of which nobody knows how they ended.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from execution import control
from execution.codes import DONE, RUN_OVER
from execution.control import Action
from execution.store import commands, views
from execution.store.commands import RunOver
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases.decide_approval import approver

AGAIN: Final = "rerun_unknown"
"""In the audit trail, in place of the action that brings it about."""
LOOKED_AT_S: Final = 0.1
"""What came of a command is looked at so often."""


@dataclass(frozen=True, kw_only=True)
class Steering:
    """What a run is told.

    Attributes:
        action: What it is to do.
        rerun_unknown: For resume: whether calls of which nobody knows how they ended are made
            again; they may have had their effect already.
        workflow: JSON of what replaces the rest of it, for replan; judged already.
    """

    action: Action
    rerun_unknown: bool = False
    workflow: Mapping[str, Any] | None = None


def find(caller: Caller, run: UUID, *, sealer: Sealer, workflow: bool = False) -> RunView:
    """Return how a run stands that the caller may tell what to do.

    That is the user it runs for, an admin of the team it runs for, or a superuser.

    Args:
        caller: Who asks.
        run: Its id.
        sealer: Opens its workflow.
        workflow: Whether with what it is to do.

    Raises:
        UnknownRun: If there is none such.
    """
    view = views.view(run, caller=None, sealer=sealer, results=False, workflow=workflow)
    if not approver(caller).may_decide(view.team, view.user):
        raise UnknownRun(run)
    return view


def control_run(caller: Caller, run: UUID, steering: Steering, *, sealer: Sealer) -> int | None:
    """Tell a run what to do, and write down who did; both or neither.

    Whichever process carries out runs does what it is told, once, when it comes to it.

    Args:
        caller: The person who tells it.
        run: Its id.
        steering: What it is told.
        sealer: Seals the workflow of a replan.

    Returns:
        Primary key of the command; None: the run does already what it is told.

    Raises:
        UnknownRun: If there is none that the caller may tell anything.
        NotPossible: If it cannot do that as it stands.
    """
    action = steering.action
    view = find(caller, run, sealer=sealer)
    if not control.is_needed(action, view.status, rerun_unknown=steering.rerun_unknown):
        return None
    detail = {"rerun_unknown": True} if steering.rerun_unknown else {}
    with transaction.atomic():
        try:
            command = commands.add(
                run,
                action.value,
                caller=caller,
                sealer=sealer,
                workflow=steering.workflow,
                detail=detail,
            )
        except RunOver as over:
            raise control.not_possible(action, over.status) from None
        told = {"action": action.value, **detail, "for": view.user, "status": view.status.value}
        what = AGAIN if steering.rerun_unknown else action.value
        audit.record(caller, f"run.told_to_{what}", str(run), detail=told)
    return command


def was_carried_out(run: UUID, command: int, action: Action, *, wait_s: float) -> bool:
    """Wait until a command is carried out; False: nobody has come to it when the time is up.

    Raises:
        NotPossible: If the run refused it when its turn came.
    """
    give_up_at = time.monotonic() + wait_s
    while (outcome := commands.outcome(command)) is None:
        if time.monotonic() >= give_up_at:
            return False
        time.sleep(LOOKED_AT_S)
    if outcome == RUN_OVER:
        control.is_needed(action, views.status(run))
    elif outcome != DONE:
        raise control.refused(action, outcome)
    return True
