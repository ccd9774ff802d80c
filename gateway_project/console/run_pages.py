"""The list of runs in the admin, where people control several at once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render

from execution.admin.bases import is_run_id
from execution.admin.runs import WorkflowExecutionAdmin
from execution.control import Action, ActionNotPossible
from execution.store.runs import UnknownRun
from gateway_project.console import run_decisions
from gateway_project.console.audited_admin import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases import control_run
from gateway_project.use_cases.control_run import RunControl

MAX_SELECTED = 100
TOO_MANY_SELECTED = f"Choose at most {MAX_SELECTED} runs at a time; nothing was changed."
NO_UNKNOWN_CALLS = "These runs have no unknown call that you may repeat."
NOT_ALLOWED = "only its user, admins of its team and superusers may"
CONFIRM_FIELD = "sure"
"""Form field that confirms repeating calls."""


class ControllableRunAdmin(WorkflowExecutionAdmin):
    """Runs of workflows, with actions for those who may control them."""

    actions = ("pause", "resume", "abort", "rerun_unknown")

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Lead to the run's room; its stored record is shown when asked for, or without one."""
        row = self.get_object(request, unquote(object_id))
        is_record = run_decisions.RECORD_PARAMETER in request.GET
        if row is None or is_record or not _has_room(request, row.pk):
            return super().change_view(request, object_id, form_url, extra_context)
        return redirect("run", run=row.pk)

    def response_action(
        self, request: HttpRequest, *args: Any, **options: Any
    ) -> HttpResponse | None:
        """Ignore selected values that are not run ids, on which the query would fail."""
        posted = request.POST.copy()
        run_ids = filter(is_run_id, posted.getlist(ACTION_CHECKBOX_NAME))
        posted.setlist(ACTION_CHECKBOX_NAME, list(run_ids))
        request.POST = QueryDict(posted.urlencode())
        return super().response_action(request, *args, **options)

    @admin.action(description="Pause", permissions=["view"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Pause runs: nothing more starts, calls in flight finish."""
        return self._send_commands(request, queryset, RunControl(action=Action.PAUSE))

    @admin.action(description="Resume, or continue with the next layer", permissions=["view"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Resume paused runs."""
        return self._send_commands(request, queryset, RunControl(action=Action.RESUME))

    @admin.action(description="Abort", permissions=["view"])
    def abort(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Abort runs; calls in flight are cancelled."""
        return self._send_commands(request, queryset, RunControl(action=Action.ABORT))

    @admin.action(description="Repeat unknown calls …", permissions=["view"])
    def rerun_unknown(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Repeat calls with unknown outcome, after a confirmation that shows them."""
        if CONFIRM_FIELD in request.POST:
            control = RunControl(action=Action.RESUME, rerun_unknown=True)
            return self._send_commands(request, queryset, control)
        return self._confirm_rerun(request, queryset)

    def _confirm_rerun(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        caller, sealer = caller_of(request), _load_sealer()
        selected = _selected_runs(request, queryset)
        budget = run_decisions.DisplayBudget()
        rows = {run: _unknown_call_rows(caller, run, sealer, budget) for run in selected}
        lost = {run: calls for run, calls in rows.items() if calls}
        if not lost:
            if selected:
                messages.error(request, NO_UNKNOWN_CALLS)
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": "Repeat calls",
            "lost": lost.items(),
            "checkbox": ACTION_CHECKBOX_NAME,
            "sure": CONFIRM_FIELD,
            "opts": self.opts,
        }
        return render(request, "console/rerun_unknown.html", context)

    def _send_commands(
        self, request: HttpRequest, queryset: QuerySet[Any], control: RunControl
    ) -> HttpResponse | None:
        caller, sealer = caller_of(request), _load_sealer()
        sent = 0
        for run in _selected_runs(request, queryset):
            if refusal := _send_command(caller, run, control, sealer):
                messages.error(request, refusal)
            else:
                sent += 1
        if sent:
            noun = "run was" if sent == 1 else "runs were"
            messages.success(
                request,
                f"{sent} {noun} told to {control.action.value}; the next gateway or worker "
                "that runs it carries this out.",
            )
        return None


def _selected_runs(request: HttpRequest, queryset: QuerySet[Any]) -> list[UUID]:
    """Return the selected runs; none, with an error message, if there are too many."""
    selected = list(queryset.values_list("pk", flat=True)[: MAX_SELECTED + 1])
    if len(selected) > MAX_SELECTED:
        messages.error(request, TOO_MANY_SELECTED)
        return []
    return selected


def _has_room(request: HttpRequest, run: UUID) -> bool:
    """Whether the user sees a run in the console; members of its team see its record only."""
    try:
        control_run.find_run(caller_of(request), run, sealer=_load_sealer())
    except UnknownRun:
        return False
    return True


def _unknown_call_rows(
    caller: Caller, run: UUID, sealer: Sealer, budget: run_decisions.DisplayBudget
) -> list[dict[str, object]]:
    """Return the template rows of a run's lost calls; none if the caller may not control it."""
    try:
        view = control_run.find_run(caller, run, sealer=sealer)
    except UnknownRun:
        return []
    return run_decisions.lost_call_rows(view, sealer=sealer, budget=budget)


def _send_command(caller: Caller, run: UUID, control: RunControl, sealer: Sealer) -> str:
    """Send a command to one run; return the reason for a refusal, empty on success."""
    try:
        control_run.control_run(caller, run, control, sealer=sealer)
    except UnknownRun:
        return f"Run {run}: {NOT_ALLOWED}."
    except ActionNotPossible as error:
        return f"Run {run}: {error}."
    return ""


def _load_sealer() -> Sealer:
    return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
