"""Pages on which people approve or reject calls."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from execution.store.approvals import ApprovalNotPending, UnknownApproval
from execution.view import ApprovalView
from gateway_project.console import approval_rows
from gateway_project.console.audited_admin import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.sealing import Sealer
from gateway_project.runs import approval_text
from gateway_project.use_cases import decide_approval

MAX_PREVIEWED_CALLS: Final = 50
"""Calls listed with a preview of their arguments; the page of each shows all of them."""


@require_safe
def show_inbox(request: HttpRequest) -> HttpResponse:
    """List the approvals pending for the user and those decided lately."""
    caller = caller_of(request)
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    pending = decide_approval.load_pending(caller)
    return _render_page(
        request,
        "console/approvals.html",
        title="Approvals",
        pending=[
            *(_pending_row(view, sealer) for view in pending[:MAX_PREVIEWED_CALLS]),
            *map(_approval_row, pending[MAX_PREVIEWED_CALLS:]),
        ],
        recent=[_approval_row(view) for view in decide_approval.load_recent(caller)],
    )


@require_safe
def show_approval(request: HttpRequest, approval: UUID) -> HttpResponse:
    """Show one call with the exact arguments that would be sent."""
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    try:
        view = decide_approval.load_approval(caller_of(request), approval, sealer=sealer)
    except UnknownApproval:
        raise Http404("no such approval") from None
    return _render_page(
        request,
        "console/approval.html",
        title=f"Approval of {approval_text.single_line(view.tool)}",
        approval=_approval_row(view),
        arguments=approval_text.format_arguments(view.arguments),
        can_be_decided=view.is_pending and view.arguments is not None,
    )


@require_POST
def approve(request: HttpRequest, approval: UUID) -> HttpResponse:
    """Approve the call."""
    return _decide(request, approval, approve=True)


@require_POST
def reject(request: HttpRequest, approval: UUID) -> HttpResponse:
    """Reject the call."""
    return _decide(request, approval, approve=False)


def _decide(request: HttpRequest, approval: UUID, *, approve: bool) -> HttpResponse:
    try:
        decided = decide_approval.decide_approval(
            caller_of(request), approval, approve=approve, via="console"
        )
    except UnknownApproval:
        raise Http404("no such approval") from None
    except ApprovalNotPending as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return redirect("approval", approval=approval)
    verdict = "Approved" if approve else "Rejected"
    messages.success(request, f"{verdict}: {approval_text.single_line(decided.tool)}.")
    return redirect("approvals")


def _pending_row(view: ApprovalView, sealer: Sealer) -> dict[str, object]:
    """Return the template row of a pending call."""
    preview = approval_rows.arguments_preview(view.run, view.task, view.item, sealer=sealer)
    return {**_approval_row(view), "begins": preview}


def _approval_row(view: ApprovalView) -> dict[str, object]:
    """Return the template row of an approval; foreign texts with invisible characters escaped."""
    return {
        "id": view.id,
        "tool": approval_text.single_line(view.tool),
        "reason": approval_text.single_line(view.reason),
        "user": approval_text.single_line(view.user),
        "run": view.run,
        "task": approval_text.single_line(view.task),
        "item": view.item if view.item >= 0 else None,
        "status": view.status,
        "created_at": view.created_at,
        "expires_at": view.expires_at,
        "decided_at": view.decided_at,
        "decided_by": approval_text.single_line(view.decided_by),
        "decided_via": view.decided_via,
    }


def _render_page(request: HttpRequest, template: str, **context: object) -> HttpResponse:
    return render(request, template, {**admin.site.each_context(request), **context})


urlpatterns = [
    path("", admin.site.admin_view(show_inbox), name="approvals"),
    path("<uuid:approval>", admin.site.admin_view(show_approval), name="approval"),
    path("<uuid:approval>/approve", admin.site.admin_view(approve), name="approval-approve"),
    path("<uuid:approval>/reject", admin.site.admin_view(reject), name="approval-reject"),
]
