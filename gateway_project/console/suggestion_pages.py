"""Pages on which people review predicted workflows and say whether they were right."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from execution.admin.speculations import SpeculationAdmin
from execution.prediction_outcome import Verdict
from gateway_project.console.audited_admin import caller_of
from gateway_project.use_cases.judge_suggestions import judge_suggestions
from tools.admin_bases import NOTED_TEMPLATE

JUDGE_PERMISSION: Final = "execution.change_speculation"


class ReviewableSpeculationAdmin(SpeculationAdmin):
    """Predicted workflows, with verdicts that count as feedback."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = "Each row is a workflow that run_intent suggested, and what became of it."

    actions = ("accept", "reject")

    def has_judge_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may judge the predictions that they see."""
        return request.user.has_perm(JUDGE_PERMISSION)

    @admin.action(description="Accept: the suggestion was right", permissions=["judge"])
    def accept(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Resolve the selected predictions as right."""
        _judge(request, queryset, Verdict.ACCEPT)

    @admin.action(description="Reject: the suggestion was wrong", permissions=["judge"])
    def reject(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Resolve the selected predictions as wrong."""
        _judge(request, queryset, Verdict.REJECT)


def _judge(request: HttpRequest, queryset: QuerySet[Any], verdict: Verdict) -> None:
    ids = list(queryset.values_list("pk", flat=True))
    judged = judge_suggestions(caller_of(request), ids, verdict, at=timezone.now())
    if judged.recorded:
        messages.success(request, f"{judged.recorded} of {len(ids)} suggestions judged.")
    if judged.refused:
        messages.warning(
            request,
            f"{judged.refused} of {len(ids)} were resolved already; an outcome counts once.",
        )
