"""Read-only pages of what limits calls made ahead: switch, budgets, and compared results."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from execution.agreement_counts import AgreementCounts
from execution.models import (
    BudgetReservation,
    SpeculationAgreement,
    SpeculationBudget,
    SpeculationControl,
)
from tools import hidden_text
from tools.admin_bases import NOTED_TEMPLATE, ReadOnlyAdmin


@admin.register(SpeculationBudget)
class SpeculationBudgetAdmin(ReadOnlyAdmin):
    """How much may be called ahead at each server."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "Servers without a row have the defaults: half of the predicted next calls may go unused "
        "where a call is free, a tenth where it costs money; 60 calls a minute; no money."
    )
    list_display = ("server", "waste", "calls_per_minute", "dollars_per_day")
    list_select_related = ("server",)
    search_fields = ("server__name",)
    ordering = ("server__name",)


@admin.register(SpeculationAgreement)
class SpeculationAgreementAdmin(ReadOnlyAdmin):
    """How often results made ahead were those of real calls."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "The first results made ahead are compared with those of the real calls. After three that "
        "agree they answer requests, except for one in twenty, which is still compared; one that "
        "differs ends it."
    )
    list_display = (
        "tool_name", "team", "status", "agreed", "disagreed", "served_age", "compared_at",
        "reset_by",
    )  # fmt: skip
    list_filter = ("tool__server", "team")
    list_select_related = ("tool__server", "team")
    search_fields = ("tool__name", "tool__server__name")
    ordering = ("-compared_at", "-pk")
    fields = (
        "tool_name", "team", "status", "agreed", "disagreed", "served_age", "compared_at",
        "reset_by", "reset_at", "definition_hash", "launch_hash",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="tool", ordering="tool__name")
    def tool_name(self, row: SpeculationAgreement) -> str:
        """Canonical id, with hidden characters written out."""
        return hidden_text.reveal_hidden(str(row.tool))

    @admin.display(description="status")
    def status(self, row: SpeculationAgreement) -> str:
        """Whether results made ahead are served."""
        if row.disagreed:
            return "never served: a result was not that of the call made again"
        return "served" if _count(row).has_earned else "compared only, until more agree"

    @admin.display(description="served up to")
    def served_age(self, row: SpeculationAgreement) -> str:
        """Greatest age of a result that is served."""
        counts = _count(row)
        return f"{counts.served_age_s:.1f} s" if counts.has_earned else ""


@admin.register(BudgetReservation)
class BudgetReservationAdmin(ReadOnlyAdmin):
    """Money reserved for priced calls made ahead, newest first."""

    list_display = ("server", "team", "dollars", "reserved_at", "expires_at", "spent_at")
    list_filter = ("server", "team")
    list_select_related = ("server", "team")
    ordering = ("-reserved_at", "-pk")
    date_hierarchy = "reserved_at"
    fields = ("id", *list_display)
    readonly_fields = fields


@admin.register(SpeculationControl)
class SpeculationControlAdmin(ReadOnlyAdmin):
    """The switch of all speculation; the header of the console turns it."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "Turning it off stops all calls ahead of requests, in all gateways within a second, also "
        "while they cannot reach the database."
    )
    list_display = ("is_on", "changed_by", "changed_at")
    fields = ("is_on", "changed_by", "changed_at")
    readonly_fields = fields


def _count(row: Any) -> AgreementCounts:
    return AgreementCounts(row.agreed, row.disagreed, tuple(row.ages_s))
