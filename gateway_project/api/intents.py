"""Intents, workflows, single calls and feedback: as MCP clients make them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from execution.planning.plan import Plan
from gateway_project import flow
from gateway_project.access.roles import CALL, SEARCH
from gateway_project.api.runs import run_to_json
from gateway_project.api.runtime import run_coroutine
from gateway_project.api.views import ApiView
from gateway_project.foundation import telemetry
from gateway_project.mcp import arguments, large_results, meta_tools
from gateway_project.mcp.call_results import describe_served
from gateway_project.runs.task_results import speculative_run_to_json
from tools.upstream.request import UpstreamRequest

_INTENT: Final = meta_tools.BY_NAME[meta_tools.INTENT]
_RUN: Final = meta_tools.BY_NAME[meta_tools.RUN]
_CALL: Final = meta_tools.BY_NAME[meta_tools.CALL]
_FEEDBACK: Final = meta_tools.BY_NAME[meta_tools.FEEDBACK]


class IntentView(ApiView):
    """Wishes in words."""

    scopes: ClassVar = {"POST": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="run_intent",
        request={"application/json": _INTENT.input_schema},
        responses={200: _INTENT.output_schema},
        examples=[
            OpenApiExample(
                "intent", value={"intent": "list the newest commits"}, request_only=True
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Suggest a workflow for an intent, or return its results if it was run ahead."""
        checked = arguments.check_arguments(meta_tools.INTENT, self.read_object())
        with telemetry.intent_seconds.time():
            answer = run_coroutine(
                flow.handle_intent,
                self.effects,
                self.caller,
                arguments.read_intent_request(checked),
            )
        telemetry.intents.labels(answer.mode.value).inc()
        return Response(answer.as_json() | speculative_run_to_json(answer.ahead))


class WorkflowView(ApiView):
    """Workflows to run."""

    scopes: ClassVar = {"POST": CALL}
    serves_groups = True

    @extend_schema(
        operation_id="run_workflow",
        request={"application/json": _RUN.input_schema},
        responses={200: _RUN.output_schema, 202: _RUN.output_schema},
        examples=[
            OpenApiExample(
                "one task",
                value={
                    "workflow": {
                        "tasks": [
                            {
                                "id": "now",
                                "tool": "time:get_current_time",
                                "arguments": {"timezone": "UTC"},
                            }
                        ]
                    }
                },
                request_only=True,
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Run a workflow, or plan it (`options.dry_run`); 202 while the run is not at rest."""
        checked = arguments.check_arguments(meta_tools.RUN, self.read_object())
        started = run_coroutine(
            flow.run_workflow, self.effects, self.caller, arguments.read_run_request(checked)
        )
        if isinstance(started, Plan):
            return Response(started.to_json())
        status = HTTPStatus.OK if started.status.is_final else HTTPStatus.ACCEPTED
        location = self.request.build_absolute_uri(f"/api/v1/runs/{started.id}/")
        return Response(run_to_json(started), status, headers={"Location": location})


class CallView(ApiView):
    """Single calls of tools."""

    scopes: ClassVar = {"POST": CALL}
    serves_groups = True

    @extend_schema(
        operation_id="call_tool",
        request={"application/json": _CALL.input_schema},
        responses={
            200: {
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
            }
        },
        examples=[
            OpenApiExample(
                "call",
                value={"tool": "time:get_current_time", "arguments": {"timezone": "UTC"}},
                request_only=True,
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Call a tool; a result with `isError` is an answer of its server, with status 200."""
        checked = arguments.check_arguments(meta_tools.CALL, self.read_object())
        wanted = arguments.read_wanted_size(meta_tools.CALL, checked)
        outcome = run_coroutine(
            flow.call_tool,
            self.effects,
            self.caller,
            UpstreamRequest.to_call(
                checked["tool"],
                checked.get("arguments", {}),
                timeout_s=arguments.read_timeout_s(
                    meta_tools.CALL, checked, max_s=self.effects.max_call_s
                ),
            ),
            is_fresh=checked.get("fresh", False),
        )
        answer: dict[str, Any] = {
            "tool": outcome.tool,
            "duration_ms": round(outcome.duration_s * 1000, 1),
        }
        raw, link = run_coroutine(
            large_results.reduce_result, self.effects, self.caller, outcome.result.raw, wanted
        )
        answer["result"] = raw
        if link:
            answer["whole"] = link
        for value in describe_served(outcome.served).values():
            answer["served"] = value
        return Response(answer)


class FeedbackView(ApiView):
    """Verdicts on suggestions."""

    scopes: ClassVar = {"POST": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="give_feedback",
        request={"application/json": _FEEDBACK.input_schema},
        responses={200: _FEEDBACK.output_schema},
    )
    def post(self, _request: Request) -> Response:
        """Say whether a suggestion was right; it counts once."""
        checked = arguments.check_arguments(meta_tools.FEEDBACK, self.read_object())
        given = run_coroutine(
            flow.give_feedback,
            self.effects,
            self.caller,
            arguments.read_feedback_request(checked),
        )
        return Response(given.as_json())
