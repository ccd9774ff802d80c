"""The page of runs, on which people tell them what to do."""

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

from execution.admin.bases import is_id
from execution.admin.runs import WorkflowExecutionAdmin
from execution.control import Action, NotPossible
from execution.store.runs import UnknownRun
from gateway_project.console import run_decisions
from gateway_project.console.audited import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases import control_run
from gateway_project.use_cases.control_run import Steering

MAX_AT_ONCE = 100
TOO_MANY = f"Choose at most {MAX_AT_ONCE} runs at a time; nothing was changed."
NONE_UNKNOWN = "These runs have no unknown call that you may have made again."
NOT_YOURS = "only whom it runs for, admins of that team and superusers may"
SURE = "sure"
"""Field of the form that says that calls are to be made again."""
FROM_PAGE = "from_page"
"""Field of a form on the page of one run, which leads back there."""


class SteerableRuns(WorkflowExecutionAdmin):
    """Runs of workflows, which those who may tell them can pause, resume and abort."""

    actions = ("pause", "resume", "abort", "rerun_unknown")
    change_form_template = "console/run.html"

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show a run, with what a person may tell it and which calls that is about."""
        row = self.get_object(request, unquote(object_id))
        told = {} if row is None else self._decisions(request, row.pk)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **told})

    def response_action(
        self, request: HttpRequest, *args: Any, **options: Any
    ) -> HttpResponse | None:
        """Leave out of what was chosen all that is no id, over which the query would break."""
        posted = request.POST.copy()
        chosen = filter(is_id, posted.getlist(ACTION_CHECKBOX_NAME))
        posted.setlist(ACTION_CHECKBOX_NAME, list(chosen))
        request.POST = QueryDict(posted.urlencode())
        return super().response_action(request, *args, **options)

    @admin.action(description="Pause", permissions=["view"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Have nothing more started; calls under way go on to their end."""
        return self._tell(request, queryset, Steering(action=Action.PAUSE))

    @admin.action(description="Resume, or continue with the next layer", permissions=["view"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Have runs that are paused go on."""
        return self._tell(request, queryset, Steering(action=Action.RESUME))

    @admin.action(description="Abort", permissions=["view"])
    def abort(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """End runs; calls under way are cancelled."""
        return self._tell(request, queryset, Steering(action=Action.ABORT))

    @admin.action(description="Make unknown calls again …", permissions=["view"])
    def rerun_unknown(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Ask, showing which calls, and make those again of which nobody knows how they ended."""
        if SURE in request.POST:
            steering = Steering(action=Action.RESUME, rerun_unknown=True)
            return self._tell(request, queryset, steering)
        return self._ask(request, queryset)

    def _decisions(self, request: HttpRequest, run: UUID) -> dict[str, Any]:
        decisions = run_decisions.of_run(caller_of(request), run, sealer=_sealer())
        return {"decisions": decisions, "checkbox": ACTION_CHECKBOX_NAME, "from_page": FROM_PAGE}

    def _ask(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        caller, sealer = caller_of(request), _sealer()
        chosen = _chosen(request, queryset)
        room = run_decisions.Room()
        found = {run: _unknown_calls(caller, run, sealer, room) for run in chosen}
        lost = {run: calls for run, calls in found.items() if calls}
        if not lost:
            if chosen:
                messages.error(request, NONE_UNKNOWN)
            return _back(request)
        context = {
            **self.admin_site.each_context(request),
            "title": "Make calls again",
            "lost": lost.items(),
            "checkbox": ACTION_CHECKBOX_NAME,
            "sure": SURE,
            "from_page": FROM_PAGE if FROM_PAGE in request.POST else "",
            "opts": self.opts,
        }
        return render(request, "console/rerun_unknown.html", context)

    def _tell(
        self, request: HttpRequest, queryset: QuerySet[Any], steering: Steering
    ) -> HttpResponse | None:
        caller, sealer = caller_of(request), _sealer()
        told = 0
        for run in _chosen(request, queryset):
            if said := _tell(caller, run, steering, sealer):
                messages.error(request, said)
            else:
                told += 1
        if told:
            noun = "run was" if told == 1 else "runs were"
            messages.success(
                request,
                f"{told} {noun} told to {steering.action.value}; "
                "whichever gateway or worker carries runs out does it.",
            )
        return _back(request)


def _chosen(request: HttpRequest, queryset: QuerySet[Any]) -> list[UUID]:
    """Return the runs that were chosen; none, and it is said why, if they are too many."""
    chosen = list(queryset.values_list("pk", flat=True)[: MAX_AT_ONCE + 1])
    if len(chosen) > MAX_AT_ONCE:
        messages.error(request, TOO_MANY)
        return []
    return chosen


def _back(request: HttpRequest) -> HttpResponse | None:
    """Lead back to the page of the run, if it was told from there; None: to the list."""
    if FROM_PAGE not in request.POST:
        return None
    run = request.POST.get(ACTION_CHECKBOX_NAME, "")
    return redirect("admin:execution_workflowexecution_change", run)


def _unknown_calls(
    caller: Caller, run: UUID, sealer: Sealer, room: run_decisions.Room
) -> list[dict[str, object]]:
    """Return what is shown of a run's lost calls; nothing of one that the caller may not tell."""
    try:
        view = control_run.find(caller, run, sealer=sealer)
    except UnknownRun:
        return []
    return run_decisions.shown_lost(view, sealer=sealer, room=room)


def _tell(caller: Caller, run: UUID, steering: Steering, sealer: Sealer) -> str:
    """Tell one run; return why not, empty if it was, or does it already."""
    try:
        control_run.control_run(caller, run, steering, sealer=sealer)
    except UnknownRun:
        return f"Run {run}: {NOT_YOURS}."
    except NotPossible as error:
        return f"Run {run}: {error}."
    return ""


def _sealer() -> Sealer:
    return sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)
