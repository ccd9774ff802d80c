"""Pages on which people limit what is called ahead, and let results be compared anew."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from execution.admin.budgets import SpeculationAgreementAdmin
from gateway_project.console.audited_admin import AuditedAdmin, caller_of
from gateway_project.use_cases.compare_anew import compare_anew
from tools.admin_bases import NOTED_TEMPLATE


class SpeculationBudgetAdmin(AuditedAdmin):
    """How much may be called ahead at each server."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "Servers without a row have the defaults: half of the predicted next calls may go unused "
        "where a call is free, a tenth where it costs money; 60 calls a minute; no money."
    )
    audited_as = "speculation_budget"
    list_display = ("server", "waste", "calls_per_minute", "dollars_per_day")
    list_select_related = ("server",)
    search_fields = ("server__name",)
    ordering = ("server__name",)
    fields = ("server", "waste", "calls_per_minute", "dollars_per_day")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change budgets, or that of a server."""
        return super().has_change_permission(request, obj) and _may_decide(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may delete budgets, or that of a server."""
        return super().has_delete_permission(request, obj) and _may_decide(request, obj)

    def get_field_queryset(self, db: Any, db_field: Any, request: HttpRequest) -> QuerySet[Any]:
        """Offer only servers whose budget the user may set."""
        rows = super().get_field_queryset(db, db_field, request)
        caller = caller_of(request)
        if caller.can_decide_for_team(None):
            return rows
        return rows.none() if caller.team is None else rows.filter(team=caller.team)


def _may_decide(request: HttpRequest, budget: Any) -> bool:
    return budget is None or caller_of(request).can_decide_for_team(budget.server.team_id)


class ResettableAgreementAdmin(SpeculationAgreementAdmin):
    """Compared results, with the action that begins anew."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "The first results made ahead are compared with those of the real calls. After three that "
        "agree they answer requests, but for one in twenty, which is compared for ever; one that "
        "differs ends it."
    )
    actions = ("compare_anew",)

    def has_reset_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may let comparing begin anew."""
        return request.user.has_perm("execution.change_speculationagreement")

    @admin.action(description="Compare anew", permissions=["reset"])
    def compare_anew(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Forget the selected comparisons, so that these tools can earn being served again."""
        chosen = list(queryset.values_list("pk", flat=True))
        count = compare_anew(caller_of(request), chosen)
        messages.success(request, f"{count} of {len(chosen)} tools are compared anew.")
