"""Run a workflow."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import CommandError

from execution.status import RunStatus
from execution.workflow import OnError, RunOptions
from gateway_project.access import callers
from gateway_project.foundation import surrogates
from gateway_project.management import question
from gateway_project.management.command import (
    JSON,
    GatewayCommand,
    argument,
    flag,
    load_command_user,
)
from gateway_project.management.files import read_workflow
from gateway_project.runs.request import RunRequest
from gateway_project.runs.run_json import run_to_json

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from execution.changes import RunEvent
    from execution.planning.plan import Plan
    from execution.view import ApprovalView, RunView

UNLIMITED_WAIT_S = 10 * 365 * 86_400.0
"""Default: until the run is at rest."""
INTERRUPTED_EXIT_CODE = 130
"""Exit status of a program stopped by Ctrl+C."""
NOT_STARTED_NOTE = "stopped before the run was started"
NO_WORKER_NOTE = (
    "No worker is running, and the run stays queued until one is; start one: "
    "FOREGATE_EXECUTION_BACKEND=queue manage.py worker"
)


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < UNLIMITED_WAIT_S:
        raise ArgumentTypeError(f"{text}: not a number of seconds")
    return seconds


class Command(GatewayCommand):
    """`manage.py run FILE|- [--intent …] [--dry-run] [--wait S]`."""

    help = (
        'Run a workflow from a file, or - for stdin: {"tasks": […]}, or an answer of '
        "`suggest --json`. Returns when it comes to rest."
    )
    requires_system_checks: list[str] = []
    logs = True
    arguments = (
        argument("file", "the workflow, as JSON", "FILE|-"),
        argument("--intent", "its purpose, used for learning", default=""),
        flag("--dry-run", "plan only, call nothing"),
        argument("--wait", "seconds to wait at most", "S", type=_parse_seconds),
        argument(
            "--on-error",
            "default: stop",
            choices=[word.value for word in OnError],
            default=OnError.STOP.value,
        ),
        argument("--user", "user it runs for", default=callers.LOCAL_ADMIN),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        if surrogates.has_lone_surrogate(options["intent"]):
            raise CommandError("--intent is not UTF-8 text")
        request = RunRequest(
            workflow=read_workflow(options["file"]),
            intent=options["intent"],
            options=RunOptions(on_error=OnError(options["on_error"])),
            dry_run=options["dry_run"],
            wait_s=UNLIMITED_WAIT_S if options["wait"] is None else options["wait"],
        )
        _prepare_database(options["user"])
        # Imported here: takes half a second to load, and usage errors are reported first.
        from execution.planning.plan import Plan

        outcome = self._run_workflow(request, options["user"])
        if isinstance(outcome, Plan):
            self._print_plan(outcome, as_json=options["json"])
        else:
            self._print_run(outcome, as_json=options["json"])

    def _run_workflow(self, request: RunRequest, user: str) -> Plan | RunView:
        from gateway_project.foundation.user_error import UserError
        from gateway_project.management.run_here import run_locally

        runs: list[UUID] = []

        async def started(run: UUID) -> None:
            runs.append(run)
            self._print_line(f"run {run}")
            if await _is_without_workers():
                self._print_line(NO_WORKER_NOTE)

        try:
            return asyncio.run(
                run_locally(
                    settings.FOREGATE,
                    request,
                    user=user,
                    started=started,
                    tell=self._make_event_printer(),
                    decide=_ask_decision,
                )
            )
        except UserError as error:
            raise CommandError(f"{error.code}: {error.explain()}") from None
        except KeyboardInterrupt:
            raise CommandError(
                _explain_interruption(runs), returncode=INTERRUPTED_EXIT_CODE
            ) from None

    def _print_line(self, line: str) -> None:
        self.stderr.write(line, style_func=str)
        self.stderr.flush()

    def _make_event_printer(self) -> Any:
        from gateway_project.management import run_reports

        first: list[datetime] = []

        def tell(event: RunEvent) -> None:
            first.append(event.at)
            self._print_line(run_reports.format_event(event, first[0]))

        return tell

    def _print_plan(self, plan: Plan, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(plan.to_json(), indent=2, ensure_ascii=False))
        else:
            from gateway_project.management import run_reports
            from gateway_project.runs import table as run_table

            for shown in run_table.render_plan(plan.to_json()):
                run_reports.run_console().print(shown)
        if plan.problems:
            raise CommandError("the workflow cannot be run as is")

    def _print_run(self, view: RunView, *, as_json: bool) -> None:
        from gateway_project.management import run_reports

        if as_json:
            self.stdout.write(
                run_reports.to_json_text(run_to_json(view, run_reports.link_by_command))
            )
        else:
            console = run_reports.run_console()
            for shown in run_reports.render_run(view):
                console.print(shown)
        if view.status is not RunStatus.SUCCEEDED:
            raise CommandError(
                f"the run is {view.status.value}; `manage.py run_show {view.id}` shows it"
            )


def _prepare_database(user: str) -> None:
    from gateway_project.foundation.postgres import migrate

    migrate.migrate_once()
    load_command_user(user)


async def _is_without_workers() -> bool:
    """Whether workers run workflows, and none is alive."""
    from execution.store import worker_rows
    from gateway_project.foundation.database import run_in_database_thread

    config = settings.FOREGATE
    if config.execution_backend != "queue":
        return False
    return not await run_in_database_thread(
        worker_rows.is_any_worker_alive, alive_s=config.run_lease_s
    )


def _explain_interruption(runs: list[UUID]) -> str:
    """Explain what happens to a run that is no longer waited for, and what to do."""
    if not runs:
        return NOT_STARTED_NOTE
    run = runs[0]
    who = "a worker" if settings.FOREGATE.execution_backend == "queue" else "a gateway"
    return (
        f"stopped waiting for run {run}; {who} continues it. `manage.py run_show {run}` shows "
        f"it, `manage.py control_run {run} abort` ends it"
    )


async def _ask_decision(approval: ApprovalView) -> bool | None:
    """Ask the user at the terminal; None without one."""
    if not question.is_terminal():
        return None
    from gateway_project.runs import approval_text

    question.show_question(
        f"\n{approval_text.quote_tool_name(approval.tool)} needs a person's approval: "
        f"{approval_text.single_line(approval.reason)}\n"
        f"{approval_text.format_arguments(approval.arguments)}\nMake this call, once? [y/n, else "
        "later] "
    )
    reply = (await _read_typed_line()).strip().lower()
    return {"y": True, "yes": True, "n": False, "no": False}.get(reply)


async def _read_typed_line() -> str:
    """Return the next line from the terminal, which delivers whole lines.

    Reads in the event loop: a thread that waits for a line could not be stopped by Ctrl+C.
    """
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()
