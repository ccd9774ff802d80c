"""List pending approvals and decide on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from execution.process import owner
from execution.store import worker_rows
from execution.store.approvals import ApprovalNotPending, UnknownApproval
from execution.view import ApprovalView
from gateway_project.access import callers
from gateway_project.access.roles import NotPermitted
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.management import question
from gateway_project.management.command import (
    JSON,
    GatewayCommand,
    argument,
    flag,
    load_command_user,
)
from gateway_project.runs import approval_text
from gateway_project.runs.run_json import approval_to_json
from gateway_project.use_cases import decide_approval
from gateway_project.use_cases.decide_approval import SecondPersonRequired

ACTIONS = ("show", "approve", "reject")
MINUTE_S = 60
NEXT_STEPS = (
    "Next: manage.py approvals show ID, approve ID or reject ID; or in a browser: "
    "manage.py open_console"
)

NO_EXECUTOR_NOTE = (
    "Nothing is running here that would act on it: the run continues as soon as a gateway, a "
    "console or, if workers execute runs, a worker starts (a client that connects, `manage.py "
    "open_console`, `manage.py worker`)."
)


class Command(GatewayCommand):
    """`manage.py approvals [show|approve|reject ID]`."""

    help = "List calls that wait for a person's approval; show, approve or reject one."
    database = "current"
    arguments = (
        argument("action", "default: list them", nargs="?", choices=ACTIONS),
        argument("approval", "id of the approval", "ID", nargs="?"),
        argument("--user", "user who decides", default=callers.LOCAL_ADMIN),
        flag("--yes", "decide without confirmation"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        caller = load_command_user(options["user"])
        if options["action"] is None:
            self._print_report(
                _report_pending(decide_approval.load_pending(caller), options), options
            )
            return
        approval_id = _parse_id(options["approval"])
        try:
            if options["action"] == "show":
                approval = _load_approval(caller, approval_id)
            else:
                approve = options["action"] == "approve"
                if not options["yes"]:
                    _confirm_decision(_load_approval(caller, approval_id), approve=approve)
                approval = decide_approval.decide_approval(
                    caller, approval_id, approve=approve, via="command"
                )
        except (
            UnknownApproval,
            ApprovalNotPending,
            NotPermitted,
            SecondPersonRequired,
        ) as error:
            raise CommandError(f"{error.code}: {error}") from None
        self._print_report(_report_approval(approval, options), options)
        if options["action"] != "show" and not _is_executor_alive():
            self.stderr.write(NO_EXECUTOR_NOTE, style_func=str)

    def _print_report(self, report: Any, options: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(report, indent=2) if options["json"] else report)


def _parse_id(text: str | None) -> UUID:
    try:
        return UUID(text or "")
    except ValueError:
        raise CommandError(
            "name one by its id; `manage.py approvals` lists the pending ones"
        ) from None


def _confirm_decision(approval: ApprovalView, *, approve: bool) -> None:
    """Show a call to the user at the terminal and have them confirm the decision.

    Raises:
        CommandError: If there is no terminal, or they do not confirm.
    """
    if approval.status != "pending":
        return  # the decision reports its outcome
    verb = "Approve" if approve else "Reject"
    if not question.is_terminal():
        raise CommandError(
            f"no terminal to confirm at; {verb.lower()} it at a terminal or in the console, or "
            "add --yes if a person has decided"
        )
    if not question.confirm(f"{_describe_approval(approval)}\n{verb} this call? [y/N] "):
        raise CommandError("nothing was decided")


def _is_executor_alive() -> bool:
    """Whether a live process will act on the decision."""
    config = settings.FOREGATE
    if config.execution_backend == "queue":
        return worker_rows.is_any_worker_alive(alive_s=config.run_lease_s)
    return owner.is_any_owner_alive(config.home)


def _load_approval(caller: Caller, approval: UUID) -> ApprovalView:
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    return decide_approval.load_approval(caller, approval, sealer=sealer)


def _report_pending(pending: Sequence[ApprovalView], options: dict[str, Any]) -> Any:
    if options["json"]:
        return {"approvals": [_approval_to_json(approval) for approval in pending]}
    if not pending:
        return "No call waits for approval."
    lines = [_approval_line(approval) for approval in pending]
    return "\n".join([*lines, NEXT_STEPS])


def _approval_line(approval: ApprovalView) -> str:
    left_s = (approval.expires_at - timezone.now()).total_seconds()
    return approval_text.single_line(
        f"{approval.id}  {approval.tool}  for {approval.user}, "
        f"{left_s // MINUTE_S:,.0f} min left: {approval.reason}"
    )


def _report_approval(approval: ApprovalView, options: dict[str, Any]) -> Any:
    if options["json"]:
        return _approval_to_json(approval)
    if options["action"] != "show":
        return f"{approval_text.single_line(approval.tool)}: {approval.status}."
    return _describe_approval(approval)


def _describe_approval(approval: ApprovalView) -> str:
    decision = f" by {approval.decided_by} ({approval.decided_via})" if approval.decided_by else ""
    return "\n".join(
        (
            approval_text.single_line(
                f"{approval.tool} for {approval.user}: {approval.status}{decision}"
            ),
            approval_text.single_line(f"reason for approval: {approval.reason}"),
            f"until {approval.expires_at:%Y-%m-%d %H:%M:%S %Z}; run {approval.run}",
            "exactly what would be sent:",
            approval_text.format_arguments(approval.arguments),
        )
    )


def _approval_to_json(approval: ApprovalView) -> dict[str, Any]:
    return approval_to_json(approval) | {
        "item": approval.item,
        "reason": approval.reason,
        "decided_at": approval.decided_at.isoformat() if approval.decided_at else None,
        "arguments": approval.arguments,
    }
