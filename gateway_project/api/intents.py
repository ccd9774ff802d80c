"""Intents, workflows, single calls and feedback: as MCP clients make them."""

from __future__ import annotations

from typing import Any

from rest_framework.response import Response

from execution.planning.plan import Plan
from gateway_project import flow
from gateway_project.access.roles import CALL, SEARCH
from gateway_project.api.operations import Operation
from gateway_project.api.runs import run_to_json
from gateway_project.api.runtime import run_coroutine
from gateway_project.api.views import ApiView
from gateway_project.foundation import telemetry
from gateway_project.mcp import arguments, large_results
from gateway_project.mcp.call_results import describe_served
from gateway_project.mcp.meta_tools import call as calls
from gateway_project.mcp.meta_tools import runs, suggest
from gateway_project.runs.task_results import speculative_run_to_json
from tools.upstream.request import UpstreamRequest


@Operation(
    "POST intents/",
    SEARCH,
    in_groups=True,
    takes={"application/json": suggest.RUN_INTENT.input_schema},
    answers=suggest.RUN_INTENT.output_schema,
    examples={"intent": {"intent": "list the newest commits"}},
)
def run_intent(call: ApiView) -> Any:
    """Suggest a workflow for an intent, or return its results if it was run ahead."""
    checked = arguments.check_arguments(suggest.RUN_INTENT, call.read_object())
    wanted = suggest.read_intent_request(checked)
    with telemetry.intent_seconds.time():
        answer = run_coroutine(flow.handle_intent, call.effects, call.caller, wanted)
    telemetry.intents.labels(answer.mode.value).inc()
    return answer.as_json() | speculative_run_to_json(answer.ahead)


@Operation(
    "POST workflows/",
    CALL,
    in_groups=True,
    takes={"application/json": runs.RUN_WORKFLOW.input_schema},
    answers={200: runs.RUN_WORKFLOW.output_schema, 202: runs.RUN_WORKFLOW.output_schema},
    examples={
        "one task": {
            "workflow": {
                "tasks": [
                    {
                        "id": "now",
                        "tool": "time:get_current_time",
                        "arguments": {"timezone": "UTC"},
                    }
                ]
            }
        }
    },
)
def run_workflow(call: ApiView) -> Any:
    """Run a workflow, or plan it (`options.dry_run`); 202 while the run is not at rest."""
    checked = arguments.check_arguments(runs.RUN_WORKFLOW, call.read_object())
    wanted = runs.read_run_request(checked)
    started = run_coroutine(flow.run_workflow, call.effects, call.caller, wanted)
    if isinstance(started, Plan):
        return started.to_json()
    status = 200 if started.status.is_final else 202
    location = call.request.build_absolute_uri(f"/api/v1/runs/{started.id}/")
    return Response(run_to_json(started), status, headers={"Location": location})


@Operation(
    "POST calls/",
    CALL,
    in_groups=True,
    takes={"application/json": calls.CALL_TOOL.input_schema},
    answers={
        "type": "object",
        "description": "The server's own result, as of MCP, unaltered",
        "properties": {
            "result": {"type": "object"},
            "tool": {"type": "string"},
            "duration_ms": {"type": "number"},
            "whole": {
                "type": "object",
                "description": "Only if something was left out: uri of all of it, for "
                "resources/read of MCP, bytes, expires_at",
            },
            "served": {
                "type": "object",
                "description": "Only if it was made ahead: its form, age and prediction",
            },
        },
        "required": ["result", "tool", "duration_ms"],
    },
    examples={"call": {"tool": "time:get_current_time", "arguments": {"timezone": "UTC"}}},
)
def call_tool(call: ApiView) -> Any:
    """Call a tool; a result with `isError` is an answer of its server, with status 200."""
    checked = arguments.check_arguments(calls.CALL_TOOL, call.read_object())
    wanted = calls.read_wanted_size(checked)
    timeout_s = calls.read_timeout_s(checked, max_s=call.effects.max_call_s)
    outcome = run_coroutine(
        flow.call_tool,
        call.effects,
        call.caller,
        UpstreamRequest.to_call(
            checked["tool"], checked.get("arguments", {}), timeout_s=timeout_s
        ),
        is_fresh=checked.get("fresh", False),
    )
    answer: dict[str, Any] = {
        "tool": outcome.tool,
        "duration_ms": round(outcome.duration_s * 1000, 1),
    }
    raw, link = run_coroutine(
        large_results.reduce_result, call.effects, call.caller, outcome.result.raw, wanted
    )
    answer["result"] = raw
    if link:
        answer["whole"] = link
    for value in describe_served(outcome.served).values():
        answer["served"] = value
    return answer


@Operation(
    "POST feedback/",
    SEARCH,
    in_groups=True,
    takes={"application/json": suggest.GIVE_FEEDBACK.input_schema},
    answers=suggest.GIVE_FEEDBACK.output_schema,
)
def give_feedback(call: ApiView) -> Any:
    """Say whether a suggestion was right; it counts once."""
    checked = arguments.check_arguments(suggest.GIVE_FEEDBACK, call.read_object())
    wanted = suggest.read_feedback_request(checked)
    return run_coroutine(flow.give_feedback, call.effects, call.caller, wanted).as_json()
