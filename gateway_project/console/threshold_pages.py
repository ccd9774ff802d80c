"""Pages of the thresholds of speculation, which an administrator may override."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from gateway_project.console.audited_admin import caller_of
from gateway_project.use_cases.override_threshold import override_threshold
from graph.admin.bases import TEAM_FILTER
from tools import generic_django  # noqa: F401 - for the subscripts below
from tools.admin_bases import NOTED_TEMPLATE, ReadOnlyAdmin


class OverridableThresholdAdmin(ReadOnlyAdmin):
    """Thresholds with their evidence; superusers may override them."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "A threshold is the confidence from which a suggested workflow would be run ahead."
    )

    list_display = (
        "scope", "team", "threshold", "override", "suspended", "converged", "level",
        "sample_weight", "success", "updated_at",
    )  # fmt: skip
    list_filter = (TEAM_FILTER, "suspended", "converged", "level")
    list_select_related = ("team",)
    ordering = ("-updated_at",)
    fields = (
        "scope", "team", "domain_hash", "context_hash", "policy", "threshold", "override",
        "preset", "suspended", "converged", "level", "sample_weight", "success", "updated_at",
        "history",
    )  # fmt: skip
    readonly_fields = tuple(name for name in fields if name != "override")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Return whether the user is a superuser."""
        return bool(request.user.is_superuser)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Store the override, in the history and in the audit trail; nothing else is editable."""
        if not change or not form.changed_data:
            return
        override_threshold(
            caller_of(request), obj.pk, obj.override, subject=str(obj), at=timezone.now()
        )

    @admin.display(description="success")
    def success(self, row: Any) -> str:
        """Say which share of predictions at or above it is expected to succeed."""
        if row.expected_success is None:
            return ""
        bound = "" if row.success_bound is None else f" (at least {row.success_bound:.2f})"
        return f"{row.expected_success:.2f}{bound}"

    @admin.display(description="history")
    def history(self, row: Any) -> str:
        """Link to the changes of the threshold."""
        address = reverse("admin:learning_thresholdchange_changelist")
        return format_html('<a href="{}?threshold={}">Changes</a>', address, row.pk)


class ThresholdChangeAdmin(ReadOnlyAdmin):
    """History of thresholds, with the evidence for each change."""

    list_display = ("threshold", "before", "after", "reason", "user", "at")
    list_filter = ("reason",)
    list_select_related = ("threshold",)
    ordering = ("-at",)
    date_hierarchy = "at"
    fields = ("threshold", "before", "after", "reason", "evidence", "user", "at")
    readonly_fields = fields
