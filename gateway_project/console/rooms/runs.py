"""What ran, what runs, and why it failed; and control over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from execution import control
from execution.changes import WHOLE_TASK
from execution.control import Action, ActionNotPossible
from execution.planning import parse
from execution.planning.parse import InvalidWorkflow
from execution.status import RunStatus, TaskStatus
from execution.store import views
from execution.view import RunSort, RunView, TaskView
from gateway_project import flow
from gateway_project.access.roles import APPROVE, CALL, CONTROL, READ
from gateway_project.api.problems import InvalidInput, NotFound
from gateway_project.api.runs import find_page
from gateway_project.api.runtime import load_effects, run_coroutine
from gateway_project.console import run_decisions
from gateway_project.console.rooms import audit, result_text
from gateway_project.console.rooms.addresses import tool_address
from gateway_project.console.rooms.page import RoomRequest, load_payload_sealer, render_room, room
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.runs import plan as run_plan
from gateway_project.runs.approval_text import single_line
from gateway_project.runs.plan import WorkflowNotRunnable
from gateway_project.runs.request import RunRequest
from gateway_project.runs.timeline import Timeline, build_timeline
from gateway_project.use_cases import control_run
from gateway_project.use_cases.control_run import RunControl

APPLY_WAIT_S: Final = 3.0
"""How long a page waits until a command is carried out; otherwise it is carried out later."""
MAX_EVENTS: Final = 200
"""Newest events on the page of a run."""
MAX_TASKS: Final = 500
"""Tasks and items on the page of a run."""
MAX_PROBLEMS: Final = 20
FILTERS: Final = (
    *("status", "tool", "user", "team", "since", "until", "min_duration_s"),
    *("text", "sort"),
)
RERUN: Final = "rerun_unknown"
CONFIRMED: Final = ("abort", RERUN)
"""Actions that a page explains before they are carried out."""
STATES: Final = tuple(
    dict.fromkeys([status.value for status in RunStatus] + [status.value for status in TaskStatus])
)
MAX_NODES: Final = 300
"""Tasks that are drawn; a larger graph is a list only."""
MAX_SPANS: Final = 60
PERCENT: Final = 100.0
MIN_WIDTH: Final = 0.4
"""Width of the shortest call in percent, so that it can be seen."""


@room("runs/", "runs", READ)
def show_runs(request: RoomRequest) -> HttpResponse:
    """List the caller's runs, those of teams they administer, and for superusers all."""
    filters = {name: value for name in FILTERS if (value := request.GET.get(name, ""))}
    page = find_page(request, request.caller, filters)
    return render_room(
        request,
        "console/runs/list.html",
        title="Runs",
        runs=page.items,
        next_cursor=page.next_cursor,
        filters=filters,
        statuses=[known.value for known in RunStatus],
        sorts=get_args(RunSort)[1:],  # the first one is the default
        is_first=not request.GET.get("cursor") and not filters,
        states=STATES,
    )


@room("runs/<uuid:run>/", "run", READ)
def show_run(request: RoomRequest, run: UUID) -> HttpResponse:
    """Show a run: its tasks as a graph and over time, results, and what it waits for."""
    sealer = load_payload_sealer()
    view = control_run.find_run(request.caller, run, sealer=sealer, results=True, workflow=True)
    events = views.load_events(run, after=max(0, view.last_seq - MAX_EVENTS))
    decisions = run_decisions.decisions_of_run(request.caller, run, sealer=sealer)
    may_control = request.caller.has_scope(CONTROL)
    return render_room(
        request,
        "console/runs/run.html",
        title=f"Run {str(run)[:8]}",
        run=view,
        tasks=_describe_tasks(view),
        more_tasks=max(0, len(view.tasks) - MAX_TASKS),
        picture=draw_graph(view),
        spans=draw_timeline(build_timeline(view)),
        saving=build_timeline(view),
        events=list(reversed(events)),
        last_seq=events[-1].seq if events else view.last_seq,
        decisions=decisions,
        actions=_list_actions(view, decisions) if may_control else [],
        may_approve=request.caller.has_scope(APPROVE),
        may_replan=may_control and not view.status.is_final and view.workflow is not None,
        may_repeat=request.caller.has_scope(CALL) and view.workflow is not None,
        why=_explain_status(view),
        connection=audit.describe_connection(view.kind),
        records=_list_records(request, run),
        prediction=views.find_followed_prediction(
            None if request.caller.has_scope(SCOPE_ALL) else request.caller,
            run,
            created_at=view.created_at,
        ),
        states=STATES,
    )


@room("runs/<uuid:run>/<slug:action>/", "run-control", CONTROL, "GET", "POST")
def control_by_page(request: RoomRequest, run: UUID, action: str) -> HttpResponse:
    """Pause, resume or abort a run, or repeat calls whose outcome is unknown.

    What cannot be undone is explained first.
    """
    if action not in {*(one.value for one in Action if one is not Action.REPLAN), RERUN}:
        raise NotFound(f"action {action[:40]!r}")
    if request.method != "POST":
        if action not in CONFIRMED:
            return redirect("run", run=run)
        return _confirm(request, run, action)
    is_rerun = action == RERUN
    wanted = RunControl(
        action=Action.RESUME if is_rerun else Action(action), rerun_unknown=is_rerun
    )
    return _send(request, run, wanted)


@room("runs/<uuid:run>/replan/", "run-replan", CONTROL, "GET", "POST")
def replan(request: RoomRequest, run: UUID) -> HttpResponse:
    """Replace what is left of a run's workflow."""
    view = control_run.find_run(request.caller, run, sealer=load_payload_sealer(), workflow=True)

    def send(workflow: Mapping[str, Any]) -> HttpResponse:
        run_plan.parse_replan(view, workflow)
        return _send(request, run, RunControl(action=Action.REPLAN, workflow=workflow))

    return _edit_workflow(
        request,
        view,
        form=_REPLAN_FORM,
        title=f"Replan run {str(run)[:8]}",
        use=send,
    )


@room("runs/<uuid:run>/again/", "run-again", CALL, "GET", "POST")
def make_again(request: RoomRequest, run: UUID) -> HttpResponse:
    """Run the workflow of a run again, as it is or changed: a new run of the caller's."""
    view = control_run.find_run(
        request.caller, run, sealer=load_payload_sealer(), results=True, workflow=True
    )

    def start(workflow: Mapping[str, Any]) -> HttpResponse:
        asked = RunRequest(workflow=workflow, intent=view.intent, wait_s=0.0)
        started = run_coroutine(flow.run_workflow, load_effects(request), request.caller, asked)
        assert isinstance(started, RunView)  # noqa: S101 - only a dry run returns a plan
        messages.success(request, "Started as a new run.")
        return redirect("run", run=started.id)

    return _edit_workflow(
        request,
        view,
        form=_AGAIN_FORM,
        title=f"Run {str(run)[:8]} again",
        use=start,
    )


def _edit_workflow(
    request: RoomRequest,
    view: RunView,
    *,
    form: Mapping[str, str],
    title: str,
    use: Callable[[Mapping[str, Any]], HttpResponse],
) -> HttpResponse:
    """Let the caller edit the workflow of a run; use what they send, or say what is wrong."""
    text = format_workflow(view.workflow)
    problems: tuple[str, ...] = ()
    if request.method == "POST":
        text = request.POST.get("workflow", "")
        try:
            return use(read_workflow(text))
        except (ActionNotPossible, InvalidInput, InvalidWorkflow, WorkflowNotRunnable) as error:
            problems = list_problems(error)
    return render_room(
        request,
        "console/runs/edit.html",
        title=title,
        run=view,
        form=form,
        workflow=text,
        problems=problems,
    )


_REPLAN_FORM: Final[Mapping[str, str]] = {
    "lead": "Tasks that have begun keep their results; the workflow below replaces what has not "
    "started.",
    "help": "Later tasks may refer to the results of begun ones. The change is recorded in the "
    "audit trail.",
    "button": "Replan this run",
}
_AGAIN_FORM: Final[Mapping[str, str]] = {
    "lead": "Starts a new run of your own with this workflow. Every call is made again.",
    "help": "Change what you like first. Calls that need approval wait for it again.",
    "button": "Run it",
}


def _confirm(request: RoomRequest, run: UUID, action: str) -> HttpResponse:
    sealer = load_payload_sealer()
    view = control_run.find_run(request.caller, run, sealer=sealer)
    lost: Sequence[Any] = ()
    if action == RERUN:
        budget = run_decisions.DisplayBudget()
        lost = run_decisions.lost_call_rows(view, sealer=sealer, budget=budget)
    return render_room(
        request,
        "console/runs/confirm.html",
        title="Repeat calls" if action == RERUN else f"Abort run {str(run)[:8]}",
        run=view,
        action=action,
        lost=lost,
        in_flight=[task for task in view.tasks if task.status is TaskStatus.RUNNING],
        pending=[task for task in view.tasks if task.status is TaskStatus.PENDING],
    )


def _send(request: RoomRequest, run: UUID, wanted: RunControl) -> HttpResponse:
    try:
        command = control_run.control_run(
            request.caller, run, wanted, sealer=load_payload_sealer()
        )
        is_applied = command is None or control_run.wait_for_command(
            run, command, wanted.action, wait_s=APPLY_WAIT_S
        )
    except ActionNotPossible as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return redirect("run", run=run)
    if is_applied:
        messages.success(request, _DONE[wanted.action])
    else:
        messages.info(
            request,
            "The command is recorded and is carried out as soon as a process works on the run.",
        )
    return redirect("run", run=run)


_DONE: Final[Mapping[Action, str]] = {
    Action.PAUSE: "Paused: nothing more starts; calls in flight finish.",
    Action.RESUME: "Resumed.",
    Action.ABORT: "Aborted: calls in flight were cancelled.",
    Action.REPLAN: "Replanned: the new workflow replaces what had not started.",
}


def _list_actions(view: RunView, decisions: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions that the run's status allows."""
    found = []
    for action, label in run_decisions.ACTION_BUTTONS:
        try:
            is_needed = control.is_action_needed(action, view.status)
        except ActionNotPossible:
            continue
        if is_needed:
            is_confirmed = action.value in CONFIRMED
            found.append({"name": action.value, "label": label, "is_confirmed": is_confirmed})
    if decisions.get("lost"):
        found.append({"name": RERUN, "label": "Repeat unknown calls …", "is_confirmed": True})
    return found


def _describe_tasks(view: RunView) -> list[dict[str, Any]]:
    """Return the template rows of a run's tasks, with results as far as they fit."""
    budget = run_decisions.DisplayBudget()
    return [
        {
            "row": task,
            "key": make_task_key(task.task, task.item),
            "label": label_task(task.task, task.item),
            "url": tool_address(task.tool),
            "result": None if task.result is None else describe_result(task.result, budget),
        }
        for task in view.tasks[:MAX_TASKS]
    ]


def describe_result(raw: Mapping[str, Any], budget: run_decisions.DisplayBudget) -> dict[str, Any]:
    """Return a result as its texts, for reading, and as data; long ones as data alone."""
    data = budget.format_arguments(raw)
    is_whole = not data.endswith(run_decisions.SHORTENED)
    blocks = result_text.describe_blocks(raw) if is_whole else []
    return {
        "data": data,
        "texts": [block["text"] for block in blocks if block["kind"] == "text"],
        "reads_like_error": result_text.reads_like_error(raw),
    }


def _list_records(request: RoomRequest, run: UUID) -> dict[str, str]:
    """Return the addresses of what is stored of a run; its rows are for superusers."""
    memory = {"what the memory holds of it": reverse("memory", query={"run": run})}
    if not request.caller.has_scope(SCOPE_ALL):
        return memory
    rows = {"tasks": "taskrun", "events": "executionevent", "commands": "runcommand"}
    return {
        "the run": reverse("admin:execution_workflowexecution_change", args=[run]),
        **{
            name: reverse(f"admin:execution_{model}_changelist", query={"run__id__exact": run})
            for name, model in rows.items()
        },
        **memory,
    }


def _explain_status(view: RunView) -> str:
    """Say in one line what a run waits for, or why it failed."""
    if view.status is RunStatus.WAITING and view.pending_approvals:
        count = len(view.pending_approvals)
        wait = "calls wait" if count > 1 else "call waits"
        return f"{count} {wait} for a person's decision."
    if view.status in _EXPLANATIONS:
        return _EXPLANATIONS[view.status]
    failed = [task for task in view.tasks if task.status is TaskStatus.FAILED]
    if failed and view.status.is_final:
        first: TaskView = min(failed, key=lambda task: (task.ended_at is None, task.ended_at))
        code = (first.error_code or "an error").replace("_", " ")
        return f"Task {first.task} failed first: {code}. What it said is in the table below."
    return ""


_EXPLANATIONS: Final[Mapping[RunStatus, str]] = {
    RunStatus.QUEUED: "It waits for a gateway, a console or a worker to start it.",
    RunStatus.WAITING: "It has its decision and waits for a process to continue it.",
    RunStatus.PAUSED: "It is paused: nothing more starts until somebody resumes it.",
    RunStatus.UNKNOWN: "A process was lost during a call that may have taken effect; a person has "
    "to say how to go on.",
}


def format_workflow(workflow: Mapping[str, Any] | None) -> str:
    """Return a workflow as indented JSON; empty: it is no longer stored."""
    return "" if workflow is None else json.dumps(workflow, indent=2, ensure_ascii=False)


def read_workflow(text: str) -> dict[str, Any]:
    """Return the JSON object that a person wrote as a workflow, not validated yet.

    Raises:
        InvalidInput: If it is not a JSON object.
    """
    try:
        workflow = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"this is not JSON: {error}") from None
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply") from None
    if not isinstance(workflow, dict):
        raise InvalidInput("a workflow is a JSON object with the field `tasks`")
    return workflow


def list_problems(error: Exception) -> tuple[str, ...]:
    """Return what is wrong with a workflow, one line for each problem."""
    problems = getattr(error, "problems", ())
    found = [problem.message for problem in problems[:MAX_PROBLEMS]]
    if more := len(problems) - len(found):
        found.append(f"and {more} more")
    return tuple(found) or (str(error),)


def make_task_key(task: str, item: int) -> str:
    """Return the key of a task or item within its page.

    Example:
        >>> make_task_key("a", -1), make_task_key("a", 2)
        ('a', 'a[2]')
    """
    return task if item == WHOLE_TASK else f"{task}[{item}]"


def label_task(task: str, item: int) -> str:
    """Return the label of a task or item, with invisible characters escaped."""
    return single_line(make_task_key(task, item))


def draw_graph(view: RunView) -> Mapping[str, Any] | None:
    """Return nodes and edges of a run's tasks; None: its workflow expired or is too large."""
    if view.workflow is None or len(view.workflow.get("tasks", ())) > MAX_NODES:
        return None
    known = [task.task for task in view.tasks]  # a new workflow may build on tasks of the old one
    workflow = parse.parse(dict(view.workflow), known=known)
    statuses = {task.task: task.status.value for task in view.tasks if task.item == WHOLE_TASK}
    nodes = [
        {
            "id": task.id,
            "label": single_line(task.id),
            "tool": single_line(task.tool),
            "status": statuses.get(task.id, "pending"),
        }
        for task in workflow.tasks
    ]
    edges = [
        {"source": needed, "target": task.id}
        for task in workflow.tasks
        for needed in task.waits_for
        if needed in workflow.by_id
    ]
    return {"nodes": nodes, "edges": edges}


def draw_timeline(timeline: Timeline) -> Sequence[Mapping[str, Any]]:
    """Return the bars of a run's calls, as `timeline.draw_bar` draws them on a terminal."""
    whole_ms = timeline.elapsed_ms or 1.0
    return [
        {
            "key": make_task_key(span.task, span.item),
            "label": single_line(span.label),
            "tool": single_line(span.tool),
            "status": span.status,
            "start": round(PERCENT * span.start_ms / whole_ms, 2),
            "width": round(max(MIN_WIDTH, PERCENT * span.duration_ms / whole_ms), 2),
            "duration_ms": span.duration_ms if span.has_known_end else None,
        }
        for span in timeline.spans[:MAX_SPANS]
    ]
