"""The table of approvals: those that wait can be told apart, and lead to their decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from execution.admin.parts import ApprovalAdmin
from execution.store.escaping import original
from gateway_project import approval_text
from gateway_project.console.audited import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases import decide_approval

if TYPE_CHECKING:
    from execution.models import Approval

PENDING: Final = "pending"
MAX_BEGINNING: Final = 200
"""Characters of arguments that a row shows; the page of the decision shows all."""

Column = Callable[[Any], str]


class DecidableApprovals(ApprovalAdmin):
    """Calls that a person was asked about; who may decide one sees what would be sent."""

    list_per_page = 50

    def get_list_display(self, request: HttpRequest) -> Any:
        """Add what is shown only to whom may decide: the call itself, and where to decide it."""
        when, tool, _, *others = super().get_list_display(request)
        return [when, tool, _status(request), _beginning(request), *others]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add where it is decided, for whom may."""
        fields = super().get_fields(request, obj)
        may_decide = decide_approval.approver(caller_of(request)).may_decide
        is_shown = obj is not None and may_decide(obj.run.team_id, obj.run.user)
        return ("decision", *fields) if is_shown else fields

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add it here too, since nothing is changed in this table."""
        return ("decision", *super().get_readonly_fields(request, obj))

    @admin.display(description="decision")
    def decision(self, row: Approval) -> str:
        """Lead to the page that shows all of the call."""
        return _link(row, "what would be sent, and the decision")


def beginning(run: UUID, task: str, item: int, *, sealer: Sealer) -> str:
    """Return how the arguments of a call that waits begin, in a line."""
    text, _ = approval_text.short(decide_approval.arguments(run, task, item, sealer=sealer))
    return text if len(text) <= MAX_BEGINNING else f"{text[:MAX_BEGINNING]}…"


def _beginning(request: HttpRequest) -> Column:
    """Return the column with what a call that waits would be made with."""
    may_decide = decide_approval.approver(caller_of(request)).may_decide
    sealer = sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)

    @admin.display(description="arguments")
    def arguments(row: Approval) -> str:
        if not (_waits(row) and may_decide(row.run.team_id, row.run.user)):
            return ""
        return beginning(row.run_id, original(row.task), row.item, sealer=sealer)

    return arguments


def _status(request: HttpRequest) -> Column:
    """Return the column with how an approval stands, which leads to where it is decided."""
    may_decide = decide_approval.approver(caller_of(request)).may_decide

    @admin.display(description="status", ordering="status")
    def status(row: Approval) -> str:
        is_open = _waits(row) and may_decide(row.run.team_id, row.run.user)
        return _link(row, "pending: decide") if is_open else str(row.status)

    return status


def _waits(row: Approval) -> bool:
    return str(row.status) == PENDING


def _link(row: Approval, words: str) -> str:
    return format_html('<a href="{}">{}</a>', reverse("approval", args=[row.pk]), words)
