"""The admin page of predicted workflows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from execution.admin.bases import SHORT_ID_CHARS, filter_visible_runs, is_run_id
from execution.models import Speculation
from tools import hidden_text
from tools.admin_bases import ReadOnlyAdmin


class SpeculationAdmin(ReadOnlyAdmin):
    """Predicted workflows with their outcomes, newest first."""

    list_display = (
        "short_id", "created_at", "form", "mode", "confidence_label", "threshold", "outcome",
        "explicit", "evidence", "fallback", "user", "team", "saving",
    )  # fmt: skip
    list_filter = (
        "outcome", "shadow", "explicit", "verdict", "form",
        ("team", admin.RelatedOnlyFieldListFilter),
    )  # fmt: skip
    list_select_related = ("team",)
    search_fields = ("id__exact", "user")
    search_help_text = "id of a suggestion or of its run, or part of a user's name"
    ordering = ("-created_at",)
    show_full_result_count = False
    fields = (
        "id", "form", "mode", "confidence_label", "ranked_confidence", "threshold", "admitted",
        "runnable", "fallback", "calls", "took_ms", "tools", "saving", "tokens", "user", "team",
        "created_at", "due_at",
        "evidence", "run", "changed_tools", "verdict", "outcome", "explicit", "weight",
        "resolved_at", "context_hash", "domain_hash", "workflow_digest",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Exclude predictions that the user may not see."""
        return filter_visible_runs(request, super().get_queryset(request))

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - Django's signature
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Search for an id as a whole, else for users by part of their names."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        if is_run_id(term):
            return queryset.filter(id=term) | queryset.filter(run=term), False
        return queryset.filter(user__icontains=term), False

    @admin.display(description="suggestion", ordering="id")
    def short_id(self, row: Speculation) -> str:
        """The beginning of its id."""
        return str(row.pk)[:SHORT_ID_CHARS]

    @admin.display(description="mode", ordering="shadow")
    def mode(self, row: Speculation) -> str:
        """Whether it was run ahead."""
        return "shadow" if row.shadow else "run ahead"

    @admin.display(description="called ahead")
    def calls(self, row: Speculation) -> str:
        """The calls that were made ahead, with their times."""
        made = row.tasks if isinstance(row.tasks, list) else []
        return hidden_text.reveal_hidden(
            ", ".join(f"{one['tool']} ({one['ms']:,.0f} ms)" for one in made)
        )

    @admin.display(description="confidence", ordering="confidence")
    def confidence_label(self, row: Speculation) -> str:
        """Confidence with two digits."""
        return f"{row.confidence:.2f}"

    @admin.display(description="saves", ordering="saves_ms")
    def saving(self, row: Speculation) -> str:
        """Estimated duration of the workflow."""
        return "" if row.saves_ms is None else f"{row.saves_ms:,.0f} ms"
