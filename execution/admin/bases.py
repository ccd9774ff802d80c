"""Base classes of admin pages that show only runs visible to the user."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from execution.changes import WHOLE_TASK
from tools import (
    generic_django,  # noqa: F401 - for the subscripts below
    hidden_text,
)
from tools.admin_bases import ReadOnlyAdmin

SHORT_ID_CHARS = 8
"""Characters of a run's id shown in lists."""


def filter_visible_runs(
    request: HttpRequest, rows: QuerySet[Any], *, run: str = ""
) -> QuerySet[Any]:
    """Keep the user's own runs and those of their teams.

    Args:
        request: The request; superusers see all runs.
        rows: Runs, or rows that belong to runs.
        run: Path from the rows to their run, such as `run__`.
    """
    if request.user.is_superuser:
        return rows
    own = Q(**{f"{run}team__isnull": True, f"{run}user": request.user.get_username()})
    return rows.filter(own | Q(**{f"{run}team__memberships__user": request.user.pk}))


def is_run_id(text: str) -> bool:
    """Whether a text is a valid run id."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


class RunChildAdmin(ReadOnlyAdmin):
    """Rows that belong to a run."""

    list_select_related = ("run",)
    show_full_result_count = False
    search_fields: ClassVar[tuple[str, ...]] = ("run__id__exact", "task")
    search_help_text = "id of a run, or part of the id of a task"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Exclude rows of runs that the user may not see."""
        return filter_visible_runs(request, super().get_queryset(request), run="run__")

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - Django's signature
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Search for a run by its whole id, else for a task by part of its id."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        run = Q(run=term) if is_run_id(term) else Q()
        task = Q(task__icontains=term) if "task" in self.search_fields else Q(pk__in=[])
        return queryset.filter(run or task), False

    @admin.display(description="run", ordering="run")
    def run_link(self, row: Any) -> str:
        """Link to the run."""
        page = reverse("admin:execution_workflowexecution_change", args=(row.run_id,))
        return format_html('<a href="{}">{}</a>', page, str(row.run_id)[:SHORT_ID_CHARS])

    @admin.display(description="tool", ordering="tool")
    def tool_name(self, row: Any) -> str:
        """Name of the tool, with hidden characters written out."""
        return hidden_text.reveal_hidden(row.tool)

    @admin.display(description="item", ordering="item")
    def item_label(self, row: Any) -> str:
        """Index in a list; empty: the task as a whole."""
        return "" if row.item == WHOLE_TASK else str(row.item)
