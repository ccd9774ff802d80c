"""The table of approvals, with previews of pending calls and links to their decision."""

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
from execution.store.escaping import unescape_text
from gateway_project.console.audited_admin import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.sealing import Sealer
from gateway_project.runs import approval_text
from gateway_project.use_cases import decide_approval

if TYPE_CHECKING:
    from execution.models import Approval

PENDING: Final = "pending"
MAX_PREVIEW_CHARS: Final = 200
"""Characters of arguments that a row shows; the page of the decision shows all."""

ColumnRenderer = Callable[[Any], str]


class DecidableApprovalAdmin(ApprovalAdmin):
    """Approvals; those who may decide one see the call's arguments."""

    list_per_page = 50

    def get_list_display(self, request: HttpRequest) -> Any:
        """Add the columns shown only to those who may decide: status link and arguments."""
        when, tool, _, *others = super().get_list_display(request)
        return [when, tool, _make_status_column(request), _make_arguments_column(request), *others]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add the link to the decision for those who may decide."""
        fields = super().get_fields(request, obj)
        may_decide = decide_approval.load_approver(caller_of(request)).may_decide
        is_shown = obj is not None and may_decide(obj.run.team_id, obj.run.user)
        return ("decision", *fields) if is_shown else fields

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add the same link: this table is read-only."""
        return ("decision", *super().get_readonly_fields(request, obj))

    @admin.display(description="decision")
    def decision(self, row: Approval) -> str:
        """Link to the page that shows the whole call."""
        return _render_link(row, "call to be made, and the decision")


def arguments_preview(run: UUID, task: str, item: int, *, sealer: Sealer) -> str:
    """Return the beginning of a pending call's arguments as one line."""
    text, _ = approval_text.summarize_arguments(
        decide_approval.load_arguments(run, task, item, sealer=sealer)
    )
    return text if len(text) <= MAX_PREVIEW_CHARS else f"{text[:MAX_PREVIEW_CHARS]}…"


def _make_arguments_column(request: HttpRequest) -> ColumnRenderer:
    """Return the column with a preview of a pending call's arguments."""
    may_decide = decide_approval.load_approver(caller_of(request)).may_decide
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)

    @admin.display(description="arguments")
    def arguments(row: Approval) -> str:
        if not (_is_pending(row) and may_decide(row.run.team_id, row.run.user)):
            return ""
        return arguments_preview(row.run_id, unescape_text(row.task), row.item, sealer=sealer)

    return arguments


def _make_status_column(request: HttpRequest) -> ColumnRenderer:
    """Return the status column, which links a pending approval to its decision."""
    may_decide = decide_approval.load_approver(caller_of(request)).may_decide

    @admin.display(description="status", ordering="status")
    def status(row: Approval) -> str:
        is_open = _is_pending(row) and may_decide(row.run.team_id, row.run.user)
        return _render_link(row, "pending: decide") if is_open else str(row.status)

    return status


def _is_pending(row: Approval) -> bool:
    return str(row.status) == PENDING


def _render_link(row: Approval, text: str) -> str:
    return format_html('<a href="{}">{}</a>', reverse("approval", args=[row.pk]), text)
