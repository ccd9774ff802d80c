"""Tell a run what to do."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from execution.control import Action, NotPossible
from execution.planning import parse
from execution.planning.parse import InvalidWorkflow
from execution.store import views
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project import approval_text
from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.management import question, run_reports
from gateway_project.management.workflow_file import read_workflow
from gateway_project.run_face import plan as run_plan
from gateway_project.run_face.plan import NotRunnable
from gateway_project.use_cases import control_run, lost_calls
from gateway_project.use_cases.control_run import Steering
from tools.store import catalogue

WAIT_S = 5.0
"""So long it is waited to hear what came of it."""
LATER = "it is written down, and the next gateway or worker that is running carries it out"


class Command(BaseCommand):
    """`manage.py control_run RUN ACTION [--rerun-unknown]`."""

    help = "Tell a run to pause, resume, continue, replan or abort; `approvals` decides on calls."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="id; `runs` lists them")
        parser.add_argument("action", type=_action, help=", ".join(Action))
        parser.add_argument(
            "--rerun-unknown",
            action="store_true",
            help="with resume: make calls again of which nobody knows how they ended",
        )
        parser.add_argument("--workflow", metavar="FILE|-", help="with replan: the new one")
        parser.add_argument("--yes", action="store_true", help="do not ask before calling again")
        parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="who tells it")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        action = options["action"]
        _check(action, options)
        run_reports.require_tables()
        caller, sealer = _caller(options["user"]), _sealer()
        try:
            is_replan = action is Action.REPLAN  # for which its own workflow is needed
            view = control_run.find(caller, _id(options["run"]), sealer=sealer, workflow=is_replan)
            if options["rerun_unknown"]:
                _confirm(view, sealer, yes=options["yes"])
            steering = Steering(
                action=action,
                rerun_unknown=options["rerun_unknown"],
                workflow=_workflow(view, options["workflow"]),
            )
            outcome = _told(caller, view.id, steering, sealer)
        except UnknownRun:
            raise _missing(options["run"]) from None
        except NotPossible as error:
            raise CommandError(
                f"{error.code}: {error}; `manage.py run_show {options['run']}` shows it"
            ) from None
        except (InvalidWorkflow, NotRunnable) as error:
            raise CommandError(f"{error.code}: {error}") from None
        self._report(view.id, action, outcome, as_json=options["json"])

    def _report(self, run: UUID, action: Action, outcome: str, *, as_json: bool) -> None:
        status = views.status(run).value
        if as_json:
            report = {"run_id": str(run), "action": action.value, "outcome": outcome}
            self.stdout.write(json.dumps({**report, "status": status}, indent=2))
            return
        said = {
            "done": f"{action.value}: done; the run is {status}",
            "unchanged": f"{action.value}: nothing to do; the run is {status}",
            "pending": f"{action.value}: {LATER}",
        }
        self.stdout.write(f"{said[outcome]}. `manage.py run_show {run}` shows it")


def _action(text: str) -> Action:
    if text in ("approve", "reject"):
        raise ArgumentTypeError(f"`manage.py approvals {text} ID` decides on a call")
    try:
        return Action(text)
    except ValueError:
        raise ArgumentTypeError(f"{text}: not one of {', '.join(Action)}") from None


def _check(action: Action, options: dict[str, Any]) -> None:
    """Refuse options that do not go together.

    Raises:
        CommandError: Saying which.
    """
    if options["rerun_unknown"] and action is not Action.RESUME:
        raise CommandError("--rerun-unknown goes with resume alone")
    if (action is Action.REPLAN) != (options["workflow"] is not None):
        raise CommandError("replan, and nothing else, takes --workflow FILE")


def _caller(user: str) -> Caller:
    callers.ensure_local_admin()
    try:
        return callers.for_user(user, kind="command")
    except callers.UnknownUser as error:
        raise CommandError(str(error)) from None


def _sealer() -> Sealer:
    return sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)


def _id(given: str) -> UUID:
    try:
        return UUID(given)
    except ValueError:
        raise _missing(given) from None


def _missing(given: str) -> CommandError:
    return CommandError(
        f"there is no run {given[:100]!r}, or not for you to steer; `manage.py runs` lists them"
    )


def _confirm(view: RunView, sealer: Sealer, *, yes: bool) -> None:
    """Show which calls would be made again, and have the person say that this is meant.

    Raises:
        CommandError: If there are none, or the person does not say so.
    """
    if not lost_calls.unknown_calls(view):
        raise CommandError(
            f"the run is {view.status.value}: of each of its calls it is known how it ended"
        )
    if yes:
        return
    if not question.at_terminal():
        raise CommandError("calls would be made again that may have had their effect; add --yes")
    for call in lost_calls.lost_calls(view, sealer=sealer):
        task = call.task
        place = f"{task.task}[{task.item}]" if task.item >= 0 else task.task
        arguments, _ = approval_text.short(call.arguments)
        sys.stderr.write(f"{approval_text.line(f'{place}  {task.tool}')}  {arguments}\n")
    if not question.agreed("These calls may have had their effect. Make them again? [y/N] "):
        raise CommandError("nothing was changed")


def _workflow(view: RunView, name: str | None) -> Any:
    """Return what replaces the rest of a run, as JSON, judged for whom it runs."""
    if name is None:
        return None
    try:
        whose = replace(callers.for_user(view.user, kind="command"), team=view.team)
    except callers.UnknownUser as error:
        raise CommandError(str(error)) from None
    new = run_plan.replanned(view, read_workflow(name), caller=whose, catalogue=catalogue.load())
    return parse.dump(new.workflow)


def _told(caller: Caller, run: UUID, steering: Steering, sealer: Sealer) -> str:
    command = control_run.control_run(caller, run, steering, sealer=sealer)
    if command is None:
        return "unchanged"
    is_done = control_run.was_carried_out(run, command, steering.action, wait_s=WAIT_S)
    return "done" if is_done else "pending"
