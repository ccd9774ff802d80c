"""Pages on which people decide whether calls are made."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from execution.store.approvals import NotPending, UnknownApproval
from execution.view import ApprovalView
from gateway_project import approval_text
from gateway_project.console import approval_rows
from gateway_project.console.audited import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases import decide_approval

MAX_WITH_ARGUMENTS: Final = 50
"""Calls that are listed with how their arguments begin; the page of each shows all of them."""


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """List what waits for the user, and what was decided lately."""
    caller = caller_of(request)
    sealer = sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)
    pending = decide_approval.pending(caller)
    return _page(
        request,
        "console/approvals.html",
        title="Approvals",
        pending=[
            *(_waiting(asked, sealer) for asked in pending[:MAX_WITH_ARGUMENTS]),
            *map(_shown, pending[MAX_WITH_ARGUMENTS:]),
        ],
        recent=[_shown(asked) for asked in decide_approval.recent(caller)],
    )


@require_safe
def approval(request: HttpRequest, approval: UUID) -> HttpResponse:
    """Show one call with exactly what would be sent."""
    sealer = sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)
    try:
        asked = decide_approval.get(caller_of(request), approval, sealer=sealer)
    except UnknownApproval:
        raise Http404("no such approval") from None
    return _page(
        request,
        "console/approval.html",
        title=f"Approval of {approval_text.line(asked.tool)}",
        asked=_shown(asked),
        arguments=approval_text.exact(asked.arguments),
        can_be_decided=asked.is_pending and asked.arguments is not None,
    )


@require_POST
def approve(request: HttpRequest, approval: UUID) -> HttpResponse:
    """Let the call be made."""
    return _decide(request, approval, approve=True)


@require_POST
def reject(request: HttpRequest, approval: UUID) -> HttpResponse:
    """Have the call not made."""
    return _decide(request, approval, approve=False)


def _decide(request: HttpRequest, approval: UUID, *, approve: bool) -> HttpResponse:
    try:
        decided = decide_approval.decide(
            caller_of(request), approval, approve=approve, via="console"
        )
    except UnknownApproval:
        raise Http404("no such approval") from None
    except NotPending as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return redirect("approval", approval=approval)
    word = "Approved" if approve else "Rejected"
    messages.success(request, f"{word}: {approval_text.line(decided.tool)}.")
    return redirect("approvals")


def _waiting(asked: ApprovalView, sealer: Sealer) -> dict[str, object]:
    """Return what is shown of a call in the list of those that wait."""
    begins = approval_rows.beginning(asked.run, asked.task, asked.item, sealer=sealer)
    return {**_shown(asked), "begins": begins}


def _shown(asked: ApprovalView) -> dict[str, object]:
    """Return what is shown of an approval; texts of others with nothing hidden."""
    return {
        "id": asked.id,
        "tool": approval_text.line(asked.tool),
        "reason": approval_text.line(asked.reason),
        "user": approval_text.line(asked.user),
        "run": asked.run,
        "task": approval_text.line(asked.task),
        "item": asked.item if asked.item >= 0 else None,
        "status": asked.status,
        "created_at": asked.created_at,
        "expires_at": asked.expires_at,
        "decided_at": asked.decided_at,
        "decided_by": approval_text.line(asked.decided_by),
        "decided_via": asked.decided_via,
    }


def _page(request: HttpRequest, template: str, **context: object) -> HttpResponse:
    return render(request, template, {**admin.site.each_context(request), **context})


urlpatterns = [
    path("", admin.site.admin_view(inbox), name="approvals"),
    path("<uuid:approval>", admin.site.admin_view(approval), name="approval"),
    path("<uuid:approval>/approve", admin.site.admin_view(approve), name="approval-approve"),
    path("<uuid:approval>/reject", admin.site.admin_view(reject), name="approval-reject"),
]
