"""Look at calls that wait for a person, and decide them."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from execution.store.approvals import NotPending, UnknownApproval
from execution.view import ApprovalView
from gateway_project import approval_text
from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.postgres import migrate
from gateway_project.use_cases import decide_approval

ACTIONS = ("show", "approve", "reject")
MINUTE_S = 60


class Command(BaseCommand):
    """`manage.py approvals [show|approve|reject ID]`."""

    help = "List calls that wait for a person's approval; show, approve or reject one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", choices=ACTIONS, help="default: list them")
        parser.add_argument("approval", nargs="?", metavar="ID", help="of the approval")
        parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="who decides")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if migrate.pending_migrations():
            raise CommandError("the database is not migrated; run `manage.py migrate`")
        caller = _caller(options["user"])
        if options["action"] is None:
            self._report(_listed(decide_approval.pending(caller), options), options)
            return
        approval = _id(options["approval"])
        try:
            if options["action"] == "show":
                asked = _get(caller, approval)
            else:
                approve = options["action"] == "approve"
                asked = decide_approval.decide(caller, approval, approve=approve, via="command")
        except (UnknownApproval, NotPending) as error:
            raise CommandError(f"{error.code}: {error}") from None
        self._report(_one(asked, options), options)

    def _report(self, report: Any, options: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(report, indent=2) if options["json"] else report)


def _caller(user: str) -> Caller:
    callers.ensure_local_admin()
    try:
        return callers.for_user(user, kind="command")
    except callers.UnknownUser as error:
        raise CommandError(str(error)) from None


def _id(given: str | None) -> UUID:
    try:
        return UUID(given or "")
    except ValueError:
        raise CommandError(
            "name one by its id; `manage.py approvals` lists those that wait"
        ) from None


def _get(caller: Caller, approval: UUID) -> ApprovalView:
    sealer = sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)
    return decide_approval.get(caller, approval, sealer=sealer)


def _listed(pending: Sequence[ApprovalView], options: dict[str, Any]) -> Any:
    if options["json"]:
        return {"approvals": [_as_json(asked) for asked in pending]}
    if not pending:
        return "No call waits for approval."
    lines = [_line(asked) for asked in pending]
    return "\n".join([*lines, "Next: manage.py approvals show ID, approve ID or reject ID"])


def _line(asked: ApprovalView) -> str:
    left_s = (asked.expires_at - timezone.now()).total_seconds()
    return approval_text.line(
        f"{asked.id}  {asked.tool}  for {asked.user}, {left_s // MINUTE_S:,.0f} min left: "
        f"{asked.reason}"
    )


def _one(asked: ApprovalView, options: dict[str, Any]) -> Any:
    if options["json"]:
        return _as_json(asked)
    if options["action"] != "show":
        return f"{approval_text.line(asked.tool)}: {asked.status}."
    said = f" by {asked.decided_by} ({asked.decided_via})" if asked.decided_by else ""
    return "\n".join(
        (
            approval_text.line(f"{asked.tool} for {asked.user}: {asked.status}{said}"),
            approval_text.line(f"why a person is asked: {asked.reason}"),
            f"until {asked.expires_at:%Y-%m-%d %H:%M:%S %Z}; run {asked.run}",
            "exactly what would be sent:",
            approval_text.exact(asked.arguments),
        )
    )


def _as_json(asked: ApprovalView) -> dict[str, Any]:
    return {
        "id": str(asked.id),
        "run": str(asked.run),
        "task": asked.task,
        "item": asked.item,
        "tool": asked.tool,
        "reason": asked.reason,
        "user": asked.user,
        "status": asked.status,
        "created_at": asked.created_at.isoformat(),
        "expires_at": asked.expires_at.isoformat(),
        "decided_at": asked.decided_at.isoformat() if asked.decided_at else None,
        "decided_by": asked.decided_by,
        "decided_via": asked.decided_via,
        "arguments": asked.arguments,
    }
