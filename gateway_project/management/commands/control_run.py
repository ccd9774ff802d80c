"""Control a run."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError

from execution.control import Action, ActionNotPossible
from execution.planning import parse
from execution.planning.parse import InvalidWorkflow
from execution.store import views
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from gateway_project.management import question
from gateway_project.management.command import (
    JSON,
    GatewayCommand,
    argument,
    flag,
    load_command_user,
    refusing,
)
from gateway_project.management.files import read_workflow
from gateway_project.runs import approval_text
from gateway_project.runs import plan as run_plan
from gateway_project.runs.plan import WorkflowNotRunnable
from gateway_project.use_cases import control_run, lost_calls
from gateway_project.use_cases.control_run import RunControl
from tools.store import catalogue

OUTCOME_TIMEOUT_S = 5.0
"""Longest wait for the outcome of the action."""
PENDING_NOTE = "recorded; the next running gateway or worker carries it out"


def _parse_action(text: str) -> Action:
    if text in ("approve", "reject"):
        raise ArgumentTypeError(f"`manage.py approvals {text} ID` decides on a call")
    try:
        return Action(text)
    except ValueError:
        raise ArgumentTypeError(f"{text}: not one of {', '.join(Action)}") from None


class Command(GatewayCommand):
    """`manage.py control_run RUN ACTION [--rerun-unknown]`."""

    help = "Tell a run to pause, resume, continue, replan or abort; `approvals` decides on calls."
    requires_system_checks: list[str] = []
    arguments = (
        argument("run", "id; `runs` lists them", "RUN"),
        argument("action", ", ".join(Action), type=_parse_action),
        flag("--rerun-unknown", "with resume: repeat calls with an unknown outcome"),
        argument("--workflow", "with replan: the new workflow", "FILE|-"),
        flag("--yes", "repeat calls without confirmation"),
        argument("--user", "user who sends the command", default=callers.LOCAL_ADMIN),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        action = options["action"]
        _check_options(action, options)
        migrate.require_migrated()
        caller, sealer = load_command_user(options["user"]), _load_sealer()
        try:
            is_replan = action is Action.REPLAN  # needs the run's own workflow
            view = control_run.find_run(
                caller, _parse_run_id(options["run"]), sealer=sealer, workflow=is_replan
            )
            if options["rerun_unknown"]:
                _confirm_rerun(view, sealer, yes=options["yes"])
            steering = RunControl(
                action=action,
                rerun_unknown=options["rerun_unknown"],
                workflow=_load_replan(view, options["workflow"]),
            )
            outcome = _send_command(caller, view.id, steering, sealer)
        except UnknownRun:
            raise _build_missing_error(options["run"]) from None
        except ActionNotPossible as error:
            raise CommandError(
                f"{error.code}: {error}; `manage.py run_show {options['run']}` shows it"
            ) from None
        except (InvalidWorkflow, WorkflowNotRunnable) as error:
            raise CommandError(f"{error.code}: {error}") from None
        self._print_outcome(view.id, action, outcome, as_json=options["json"])

    def _print_outcome(self, run: UUID, action: Action, outcome: str, *, as_json: bool) -> None:
        status = views.load_status(run).value
        if as_json:
            report = {"run_id": str(run), "action": action.value, "outcome": outcome}
            self.write_json({**report, "status": status})
            return
        outcome_texts = {
            "done": f"{action.value}: done; the run is {status}",
            "unchanged": f"{action.value}: nothing to do; the run is {status}",
            "pending": f"{action.value}: {PENDING_NOTE}",
        }
        self.stdout.write(f"{outcome_texts[outcome]}. `manage.py run_show {run}` shows it")


def _check_options(action: Action, options: dict[str, Any]) -> None:
    """Reject incompatible options.

    Raises:
        CommandError: Saying which.
    """
    if options["rerun_unknown"] and action is not Action.RESUME:
        raise CommandError("--rerun-unknown goes with resume only")
    if (action is Action.REPLAN) != (options["workflow"] is not None):
        raise CommandError("replan, and only replan, takes --workflow FILE")


def _load_sealer() -> Sealer:
    return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)


def _parse_run_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise _build_missing_error(text) from None


def _build_missing_error(text: str) -> CommandError:
    return CommandError(
        f"there is no run {text[:100]!r}, or it is not yours to control; `manage.py runs` "
        "lists them"
    )


def _confirm_rerun(view: RunView, sealer: Sealer, *, yes: bool) -> None:
    """Show which calls would be repeated, and have the user confirm it.

    Raises:
        CommandError: If there are none, or the user does not confirm.
    """
    if not lost_calls.find_unknown_calls(view):
        raise CommandError(
            f"the run is {view.status.value}: the outcome of each of its calls is known"
        )
    if yes:
        return
    if not question.is_terminal():
        raise CommandError("calls that may have taken effect would be repeated; add --yes")
    for call in lost_calls.load_lost_calls(view, sealer=sealer):
        task = call.task
        place = f"{task.task}[{task.item}]" if task.item >= 0 else task.task
        arguments, _ = approval_text.summarize_arguments(call.arguments)
        sys.stderr.write(f"{approval_text.single_line(f'{place}  {task.tool}')}  {arguments}\n")
    if not question.confirm("These calls may have taken effect. Repeat them? [y/N] "):
        raise CommandError("nothing was changed")


def _load_replan(view: RunView, name: str | None) -> Any:
    """Return the replacement of the rest of a run as JSON, validated for the run's user."""
    if name is None:
        return None
    with refusing(callers.UnknownUser):
        whose = replace(callers.caller_for_user(view.user, kind="command"), team=view.team)
    new = run_plan.plan_replan(
        view, read_workflow(name), caller=whose, catalogue=catalogue.load_catalogue()
    )
    return parse.dump(new.replacement)


def _send_command(caller: Caller, run: UUID, steering: RunControl, sealer: Sealer) -> str:
    command = control_run.control_run(caller, run, steering, sealer=sealer)
    if command is None:
        return "unchanged"
    is_done = control_run.wait_for_command(run, command, steering.action, wait_s=OUTCOME_TIMEOUT_S)
    return "done" if is_done else "pending"
