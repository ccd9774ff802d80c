"""Run a workflow."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from execution.status import RunStatus
from execution.workflow import OnError, Options
from gateway_project.access import callers
from gateway_project.foundation import surrogates, telemetry
from gateway_project.management import question
from gateway_project.management.workflow_file import read_workflow
from gateway_project.run_face.request import RunRequest

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from execution.changes import Event
    from execution.planning.plan import Plan
    from execution.view import ApprovalView, RunView

LONG_S = 10 * 365 * 86_400.0
"""Where no time is given: until it is at rest."""
INTERRUPTED = 130
"""How a program ends that was stopped by Ctrl+C."""
NOT_STARTED = "stopped before the run was started"
NO_WORKER = (
    "No worker is running, and the run stays queued until one is; start one: "
    "FOREGATE_EXECUTION_BACKEND=queue manage.py worker"
)


class Command(BaseCommand):
    """`manage.py run FILE|- [--intent …] [--dry-run] [--wait S]`."""

    help = (
        'Run a workflow from a file, or - for stdin: {"tasks": […]}, or an answer of '
        "`suggest --json`. Ends when it is at rest."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE|-", help="the workflow, as JSON")
        parser.add_argument("--intent", default="", help="what it is for, to learn from")
        parser.add_argument("--dry-run", action="store_true", help="plan only, call nothing")
        parser.add_argument("--wait", type=_seconds, metavar="S", help="seconds to wait at most")
        parser.add_argument(
            "--on-error",
            choices=[word.value for word in OnError],
            default=OnError.STOP.value,
            help="default: stop",
        )
        parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="who it runs for")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        telemetry.configure(settings.FOREGATE, process="run", quiet=True)
        if surrogates.any_half(options["intent"]):
            raise CommandError("--intent is no text in UTF-8")
        request = RunRequest(
            workflow=read_workflow(options["file"]),
            intent=options["intent"],
            options=Options(on_error=OnError(options["on_error"])),
            dry_run=options["dry_run"],
            wait_s=LONG_S if options["wait"] is None else options["wait"],
        )
        _prepare(options["user"])
        # Imported here: what serves runs takes half a second to load, and mistakes are told first.
        from execution.planning.plan import Plan

        told = self._run(request, options["user"])
        if isinstance(told, Plan):
            self._plan(told, as_json=options["json"])
        else:
            self._state(told, as_json=options["json"])

    def _run(self, request: RunRequest, user: str) -> Plan | RunView:
        from gateway_project import user_errors
        from gateway_project.management.run_here import run_here

        runs: list[UUID] = []

        async def started(run: UUID) -> None:
            runs.append(run)
            self._say(f"run {run}")
            if await _lacks_workers():
                self._say(NO_WORKER)

        try:
            return asyncio.run(
                run_here(
                    settings.FOREGATE,
                    request,
                    user=user,
                    started=started,
                    tell=self._teller(),
                    decide=_decide,
                )
            )
        except user_errors.KNOWN as error:
            raise CommandError(": ".join(user_errors.explained(error) or ())) from None
        except KeyboardInterrupt:
            raise CommandError(_left(runs), returncode=INTERRUPTED) from None

    def _say(self, line: str) -> None:
        self.stderr.write(line, style_func=str)
        self.stderr.flush()

    def _teller(self) -> Any:
        from gateway_project.management import run_reports

        first: list[datetime] = []

        def tell(event: Event) -> None:
            first.append(event.at)
            self._say(run_reports.event_line(event, first[0]))

        return tell

    def _plan(self, plan: Plan, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(plan.as_json(), indent=2, ensure_ascii=False))
        else:
            from gateway_project.management import run_reports
            from gateway_project.run_face import table as run_table

            for shown in run_table.planned(plan.as_json()):
                run_reports.terminal().print(shown)
        if plan.problems:
            raise CommandError("the workflow cannot be run as it is")

    def _state(self, view: RunView, *, as_json: bool) -> None:
        from gateway_project.management import run_reports

        if as_json:
            self.stdout.write(run_reports.as_text(run_reports.report(view)))
        else:
            console = run_reports.terminal()
            for shown in run_reports.shown(view):
                console.print(shown)
        if view.status is not RunStatus.SUCCEEDED:
            raise CommandError(
                f"the run is {view.status.value}; `manage.py run_show {view.id}` shows it"
            )


def _prepare(user: str) -> None:
    from gateway_project.foundation.postgres import migrate

    migrate.migrate_once()
    callers.ensure_local_admin()
    try:
        callers.for_user(user, kind="command")
    except callers.UnknownUser as error:
        raise CommandError(str(error)) from None


async def _lacks_workers() -> bool:
    """Whether workers run workflows, and none is alive."""
    from execution.store import worker_rows
    from gateway_project.foundation.database import in_database

    config = settings.FOREGATE
    if config.execution_backend != "queue":
        return False
    return not await in_database(worker_rows.any_alive, alive_s=config.run_lease_s)


def _left(runs: list[UUID]) -> str:
    """Say what becomes of a run that is not waited for any more, and what can be done."""
    if not runs:
        return NOT_STARTED
    run = runs[0]
    who = "a worker" if settings.FOREGATE.execution_backend == "queue" else "a gateway"
    return (
        f"stopped waiting for run {run}; {who} goes on with it. `manage.py run_show {run}` "
        f"shows it, `manage.py control_run {run} abort` ends it"
    )


async def _decide(approval: ApprovalView) -> bool | None:
    """Ask whoever sits at the terminal; a pipe is nobody."""
    if not question.at_terminal():
        return None
    from gateway_project import approval_text

    question.ask(
        f"\n{approval_text.name(approval.tool)} needs a person's approval: "
        f"{approval_text.line(approval.reason)}\n"
        f"{approval_text.exact(approval.arguments)}\nMake this call, once? [y/n, else later] "
    )
    said = (await _line_typed()).strip().lower()
    return {"y": True, "yes": True, "n": False, "no": False}.get(said)


async def _line_typed() -> str:
    """Return the next line from the terminal, which hands lines over whole.

    No thread reads it: one that waits for a line cannot be stopped, and Ctrl+C would not end this.
    """
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < LONG_S:
        raise ArgumentTypeError(f"{text}: not a number of seconds")
    return seconds
