"""Control a run as a person, with permission checks and an audit entry.

Model input never reaches this module: it is called by the console and by a command. Only here can
calls with an unknown outcome be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from execution import control
from execution.codes import DONE, RUN_ALREADY_ENDED
from execution.control import Action
from execution.store import commands, views
from execution.store.commands import RunEnded
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases.decide_approval import load_approver

RERUN_ACTION: Final = "rerun_unknown"
"""Audited in place of the action that causes it."""
POLL_INTERVAL_S: Final = 0.1
"""Interval of checks for a command's outcome."""


@dataclass(frozen=True, kw_only=True)
class RunControl:
    """A control command for a run.

    Attributes:
        action: The action.
        rerun_unknown: For resume: whether to repeat calls with an unknown outcome, which may
            already have taken effect.
        workflow: For replan: JSON of the workflow that replaces the rest; already validated.
    """

    action: Action
    rerun_unknown: bool = False
    workflow: Mapping[str, Any] | None = None


def find_run(
    caller: Caller, run: UUID, *, sealer: Sealer, results: bool = False, workflow: bool = False
) -> RunView:
    """Return a run that the caller may control.

    These are its user, admins of its team, and superusers.

    Args:
        caller: The actor.
        run: Its id.
        sealer: Opens its workflow.
        results: Whether to include results, errors and other payloads.
        workflow: Whether to include the workflow.

    Raises:
        UnknownRun: If there is none that the caller may control.
    """
    state = views.load_view(run, caller=None, group=caller.group, sealer=sealer, results=False)
    if not load_approver(caller).may_decide(state.team, state.user):
        raise UnknownRun(run)
    if not (results or workflow):
        return state
    return views.load_view(run, caller=None, sealer=sealer, results=results, workflow=workflow)


def control_run(caller: Caller, run: UUID, request: RunControl, *, sealer: Sealer) -> int | None:
    """Queue a command for a run and audit it, in one transaction.

    The process that executes the run carries it out once.

    Args:
        caller: The actor.
        run: Its id.
        request: The command.
        sealer: Seals the workflow of a replan.

    Returns:
        Primary key of the command; None: the run is already in the requested state.

    Raises:
        UnknownRun: If there is none that the caller may control.
        ActionNotPossible: If its status does not allow the action.
    """
    action = request.action
    view = find_run(caller, run, sealer=sealer)
    if not control.is_action_needed(action, view.status, rerun_unknown=request.rerun_unknown):
        return None
    detail = {"rerun_unknown": True} if request.rerun_unknown else {}
    with transaction.atomic():
        try:
            command = commands.add_command(
                run,
                action.value,
                caller=caller,
                sealer=sealer,
                workflow=request.workflow,
                detail=detail,
            )
        except RunEnded as ended:
            raise control.build_impossible_error(action, ended.status) from None
        audit_detail = {
            "action": action.value,
            **detail,
            "for": view.user,
            "status": view.status.value,
        }
        verb = RERUN_ACTION if request.rerun_unknown else action.value
        audit.record_audit(caller, f"run.told_to_{verb}", str(run), detail=audit_detail)
    return command


def wait_for_command(run: UUID, command: int, action: Action, *, wait_s: float) -> bool:
    """Wait until a command is carried out; return False on timeout.

    Raises:
        ActionNotPossible: If the run refused it.
    """
    give_up_at = time.monotonic() + wait_s
    while (outcome := commands.load_outcome(command)) is None:
        if time.monotonic() >= give_up_at:
            return False
        time.sleep(POLL_INTERVAL_S)
    if outcome == RUN_ALREADY_ENDED:
        control.is_action_needed(action, views.load_status(run))
    elif outcome != DONE:
        raise control.build_refused_error(action, outcome)
    return True
