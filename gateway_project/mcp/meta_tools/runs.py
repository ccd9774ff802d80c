"""run_workflow, read_workflow, get_run and control_run: workflows that outlive their request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError, RunOptions
from gateway_project.foundation.schema_parts import COUNT, OBJECT, STRINGS, TEXT, describe_object
from gateway_project.mcp.meta_tool import MAY_DESTROY, READ_ONLY, READS_OUTSIDE, MetaTool
from gateway_project.mcp.results import CONVERTED_KEY, ServerReply
from gateway_project.runs.request import (
    CONTROL_ACTIONS,
    DEFAULT_WAIT_S,
    MAX_DEADLINE_S,
    MAX_INTENT_LENGTH,
    MAX_KEY_LENGTH,
    MAX_WAIT_S,
    ControlRequest,
    RunRequest,
)

if TYPE_CHECKING:
    from gateway_project.mcp.client_request import ClientRequest
    from gateway_project.mcp.interaction import UpstreamTurn

_USER_ACTIONS: Final = frozenset({"approve", "reject"})
_ON_ERROR: Final = {"enum": [word.value for word in OnError]}
_WAIT: Final = {
    "type": "number",
    "minimum": 0,
    "maximum": int(MAX_WAIT_S),
    "default": int(DEFAULT_WAIT_S),
}


def describe_workflow(properties: Mapping[str, Any], **rules: Any) -> dict[str, Any]:
    """Return the schema of a workflow whose tasks have these properties, by these rules."""
    task = {"type": "object", "properties": properties, **rules}
    return describe_object({"tasks": {"type": "array", "items": task}})


SUGGESTED_TASK: Final[dict[str, Any]] = {
    "id": TEXT,
    "tool": TEXT,
    "arguments": {
        "type": "object",
        "description": '{"$ref": task, "pointer": "/…"} refers to a value in its result',
    },
    "depends_on": STRINGS,
}
_TASK: Final[dict[str, Any]] = {
    **SUGGESTED_TASK,
    "for_each": {
        "type": "object",
        "description": 'Reference to a list; {"$item": "/…"} is its item',
    },
    "on_error": _ON_ERROR,
    "timeout_s": {"type": "number"},
}
_WORKFLOW: Final = describe_workflow(_TASK, required=["id", "tool"])
_ERROR: Final = describe_object({"code": TEXT, "message": TEXT})
_TASK_ERROR: Final[dict[str, Any]] = {
    **_ERROR,
    "properties": {
        **_ERROR["properties"],
        "items": {
            "type": "object",
            "additionalProperties": _ERROR,
            "description": "By item, for a for_each task",
        },
        "more_items": {**COUNT, "description": "Number of further failed items"},
    },
}
_LINK: Final = describe_object(
    {"uri": TEXT, "bytes": COUNT, "expires_at": TEXT, "begins": TEXT}, optional=("begins",)
)
_APPROVAL: Final = describe_object(
    {
        "id": TEXT,
        "task": TEXT,
        "item": COUNT,
        "tool": TEXT,
        "reason": TEXT,
        "arguments": {"type": "string", "description": "As JSON, shortened"},
        "expires_at": TEXT,
        "link": {
            "type": "string",
            "description": "Where a person decides after signing in, or use `manage.py approvals`",
        },
    },
    optional=("item", "arguments", "expires_at"),
)
_PROBLEM: Final = describe_object(
    {"path": TEXT, "message": TEXT, "expected": TEXT}, optional=("expected",)
)
_STATE: Final[dict[str, Any]] = {
    "run_id": TEXT,
    "status": {"enum": [status.value for status in RunStatus]},
    "tasks": {
        "type": "object",
        "additionalProperties": {"enum": [status.value for status in TaskStatus]},
        "description": "Status by task",
    },
    "results": {
        **OBJECT,
        "description": "By task: structured content, else the JSON in its text, else the text; "
        "for for_each a list, with null for items without a result",
    },
    "contents": {**OBJECT, "description": "By task: content blocks not in results"},
    "links": {
        "type": "object",
        "additionalProperties": _LINK,
        "description": "By task: results too large to send; use resources/read",
    },
    "errors": {"type": "object", "additionalProperties": _TASK_ERROR, "description": "By task"},
    "error": {**_ERROR, "description": "Error of the run as a whole"},
    "pending_approvals": {"type": "array", "items": _APPROVAL},
    "more_approvals": {**COUNT, "description": "Number of further approvals"},
    "decision": {
        "type": "object",
        "properties": {
            "reason": {"enum": ["layer_complete", "paused", "unknown"]},
            "layer": {"type": "integer"},
            "of": {"type": "integer"},
            "actions": STRINGS,
        },
        "required": ["reason", "actions"],
        "description": "What the run waits for",
    },
    "converted": {
        "type": "array",
        "items": {"type": "object"},
        "description": "What of the workflow's arguments was converted to fit",
    },
    "replanned": {
        "type": "object",
        "properties": dict.fromkeys(("kept", "changed", "added", "removed"), STRINGS),
        "description": "Task ids by effect of the last replan",
    },
    "next": {"type": "string", "description": "What to do next"},
}
_PLANNED: Final[dict[str, Any]] = {
    "plan": {
        "type": "array",
        "items": OBJECT,
        "description": "Dry run: what each task would call and wait for",
    },
    "layers": {"type": "array", "items": STRINGS},
    "validation_errors": {"type": "array", "items": _PROBLEM},
    "side_effects": {
        "type": "array",
        "items": describe_object(
            {
                "task": TEXT,
                "tool": TEXT,
                "danger": TEXT,
                "repeatable": {
                    "type": "boolean",
                    "description": "Whether it may be called again if its outcome is unknown",
                },
            }
        ),
        "description": "Tasks that do more than read",
    },
    "approvals_needed": {
        "type": "array",
        "items": describe_object({"task": TEXT, "tool": TEXT, "reason": TEXT}),
    },
    "warnings": STRINGS,
}
_STATE_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": _STATE,
    "required": ["run_id", "status", "tasks", "results", "errors", "pending_approvals"],
}
_RUN_OUTPUT: Final[dict[str, Any]] = {"type": "object", "properties": {**_STATE, **_PLANNED}}


def read_run_request(args: Mapping[str, Any]) -> RunRequest:
    """Read the validated arguments of run_workflow.

    Raises:
        InvalidRequest: If the deadline is out of bounds.
    """
    from gateway_project.mcp import arguments

    options = args.get("options", {})
    on_error = options.get("on_error")
    return RunRequest(
        workflow=args["workflow"],
        intent=args.get("intent", ""),
        options=RunOptions(
            on_error=OnError(on_error) if on_error else OnError.STOP,
            per_layer_validation=options.get("per_layer_validation", False),
            deadline_s=arguments.read_seconds(
                RUN_WORKFLOW.name,
                "/options/deadline_s",
                options.get("deadline_s"),
                max_s=MAX_DEADLINE_S,
            ),
        ),
        dry_run=options.get("dry_run", False),
        wait_s=float(options.get("wait_s", DEFAULT_WAIT_S)),
        idempotency_key=options.get("idempotency_key"),
        from_speculation=options.get("from_speculation"),
    )


async def _run_workflow(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from execution.planning.plan import Plan
    from gateway_project import flow
    from gateway_project.foundation.computing import run_in_worker_thread
    from gateway_project.mcp import client_state, run_replies, run_tasks
    from gateway_project.mcp.run_progress import make_watcher

    run_request = read_run_request(args)
    run_request = replace(run_request, wait_s=await request.limit_wait_s(run_request.wait_s))
    # A client that asks to be told of each layer decides between them, which no task can ask for.
    offers_task = (
        client_state.speaks_tasks(request.ctx)
        and run_request.wait_s > 0
        and not run_request.options.per_layer_validation
    )
    if offers_task:
        run_request = replace(run_request, wait_s=min(run_request.wait_s, run_tasks.SHORT_WAIT_S))

    async def operation(turn: UpstreamTurn) -> ServerReply:
        watch = make_watcher(request.effects.runs, request.caller, turn.progress)
        started = await flow.run_workflow(
            request.effects, request.caller, run_request, watch=watch
        )
        if isinstance(started, Plan):
            reply = await run_in_worker_thread(run_replies.write_plan_reply, started)
        elif offers_task and run_tasks.is_open(started):
            reply = await run_tasks.create_task(request, started)
        else:
            view = await run_replies.ask_until_settled(
                request, turn, started, wait_s=run_request.wait_s
            )
            view = replace(view, converted=started.converted)
            reply = await run_replies.build_run_reply(request, view, turn=turn)
        if not started.converted:
            return reply
        notes = [{**note, "pointer": f"/workflow{note['pointer']}"} for note in started.converted]
        return replace(reply, meta={**reply.meta, CONVERTED_KEY: notes})

    return await run_replies.conclude_call(request, RUN_WORKFLOW.name, operation)


async def _read_workflow(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    """Run a workflow if every tool of it only reads."""
    from execution.availability import require_read
    from gateway_project.mcp import arguments

    args = arguments.check_arguments(RUN_WORKFLOW, args)
    tasks = args["workflow"].get("tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, Mapping) and isinstance(task.get("tool"), str):
            tool = request.effects.catalogue().find_tool(task["tool"], request.caller)
            require_read(tool)
    return await _run_workflow(request, args)


async def _get_run(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from gateway_project.mcp import run_replies

    wait_s = await request.limit_wait_s(float(args.get("wait_s", 0)))

    async def operation(turn: UpstreamTurn) -> ServerReply:
        view = await run_replies.wait_for_run(request, turn, args["run_id"], wait_s=wait_s)
        return await run_replies.build_run_reply(request, view, turn=turn)

    return await run_replies.conclude_call(request, GET_RUN.name, operation)


async def _control_run(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    """Apply an action; only a person decides approvals, here the client's user."""
    from gateway_project import flow
    from gateway_project.mcp import run_replies
    from gateway_project.mcp.run_progress import make_watcher

    control = ControlRequest(
        run=args["run_id"],
        action=args["action"],
        workflow=args.get("workflow"),
        approval=args.get("approval", ""),
        wait_s=await request.limit_wait_s(float(args.get("wait_s", DEFAULT_WAIT_S))),
    )

    async def operation(turn: UpstreamTurn) -> ServerReply:
        if control.action in _USER_ACTIONS:
            return await run_replies.ask_for_decision(request, turn, control)
        watch = make_watcher(request.effects.runs, request.caller, turn.progress)
        controlled = await flow.control_run(request.effects, request.caller, control, watch=watch)
        view = await run_replies.ask_until_settled(
            request, turn, controlled, wait_s=control.wait_s
        )
        view = replace(view, replanned=controlled.replanned)
        return await run_replies.build_run_reply(request, view, turn=turn)

    return await run_replies.conclude_call(request, CONTROL_RUN.name, operation)


READ_WORKFLOW: Final = MetaTool(
    name="read_workflow",
    description="As run_workflow, if all its tools only read.",
    takes={"workflow": OBJECT, "intent": TEXT, "options": OBJECT},
    requires=["workflow"],
    output_schema=_RUN_OUTPUT,
    annotations=READS_OUTSIDE,
    serve=_read_workflow,
    begins=True,
    carries_results=True,
)
RUN_WORKFLOW: Final = MetaTool(
    name="run_workflow",
    description="Run a workflow, independent tasks in parallel. The run continues without you.",
    takes={
        "workflow": _WORKFLOW,
        "intent": {
            "type": "string",
            "description": "Purpose",
            "maxLength": MAX_INTENT_LENGTH,
        },
        "options": {
            "type": "object",
            "properties": {
                "dry_run": {"type": "boolean", "description": "Plan only"},
                "wait_s": _WAIT,
                "on_error": _ON_ERROR,
                "per_layer_validation": {
                    "type": "boolean",
                    "description": "After each layer, wait for continue, replan or abort",
                },
                "idempotency_key": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_KEY_LENGTH,
                },
                "deadline_s": {"type": "number"},
                "from_speculation": {"type": "string", "description": "speculation_id"},
            },
            "additionalProperties": False,
        },
    },
    requires=["workflow"],
    output_schema=_RUN_OUTPUT,
    annotations=MAY_DESTROY,
    serve=_run_workflow,
    begins=True,
    carries_results=True,
)
GET_RUN: Final = MetaTool(
    name="get_run",
    description="Return a run's status and results.",
    takes={"run_id": TEXT, "wait_s": {**_WAIT, "default": 0}},
    requires=["run_id"],
    output_schema=_STATE_OUTPUT,
    annotations=READ_ONLY,
    serve=_get_run,
    carries_results=True,
)
CONTROL_RUN: Final = MetaTool(
    name="control_run",
    description="Control a run. `approve` only prompts the user; it never approves by itself.",
    takes={
        "run_id": TEXT,
        "action": {"enum": list(CONTROL_ACTIONS)},
        "workflow": {"type": "object", "description": "For replan; finished tasks stay"},
        "approval": {"type": "string", "description": "Id, if several wait"},
        "wait_s": _WAIT,
    },
    requires=["run_id", "action"],
    output_schema=_STATE_OUTPUT,
    annotations=MAY_DESTROY,
    serve=_control_run,
    carries_results=True,
)
