"""run_intent suggests a workflow for a task, and give_feedback says whether it was right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_types import ToolAnnotations

from execution.mode import SuggestionMode
from execution.speculation.outcome import Outcome, Verdict
from execution.status import RunStatus
from gateway_project.foundation.schema_parts import (
    COUNT,
    OBJECT,
    PROBABILITY,
    STRINGS,
    TEXT,
    describe_object,
)
from gateway_project.mcp.meta_tool import READ_ONLY, MetaTool
from gateway_project.mcp.meta_tools.runs import SUGGESTED_TASK, describe_workflow
from gateway_project.mcp.results import ServerReply, build_structured_reply

if TYPE_CHECKING:
    from gateway_project.intent.answer import IntentRequest
    from gateway_project.intent.feedback import FeedbackRequest
    from gateway_project.mcp.client_request import ClientRequest

MAX_INTENT_LENGTH: Final = 200_000
"""Far above the length at which an intent is cut with a warning."""

_SUGGESTED: Final[dict[str, Any]] = {
    **describe_workflow(
        SUGGESTED_TASK, required=["id", "tool", "arguments"], additionalProperties=False
    ),
    "additionalProperties": False,
}
_EVIDENCE: Final = describe_object(
    {
        "history": {**COUNT, "description": "Past intents learned from"},
        "similar": {**COUNT, "description": "Those among the nearest that are similar"},
        "same_tools": {**COUNT, "description": "Of these, those that used the same tools"},
        "successes": {**COUNT, "description": "Successful runs of these"},
        "failures": {**COUNT, "description": "Failed runs of these"},
        "nearest": {"type": ["number", "null"], "description": "Cosine similarity of the nearest"},
        "context": {
            "type": "object",
            "properties": {"suggestions": {"type": "number"}, "right": {"type": "number"}},
            "description": "Outcomes of earlier suggestions for this kind of work",
        },
        "threshold": {
            "type": ["number", "null"],
            "description": "Confidence from which it would be run ahead; null: suspended",
        },
        "above_threshold": {
            "type": "boolean",
            "description": "Whether confidence reaches the threshold",
        },
    },
    optional=("context",),
)
_BINDING: Final = describe_object(
    {
        "task": TEXT,
        "pointer": {"type": "string", "description": "JSON pointer into the arguments"},
        "source": {"enum": ["user", "literal", "learned", "ref", "default"]},
        "evidence": TEXT,
        "confidence": PROBABILITY,
    }
)
_NEEDED: Final = describe_object(
    {
        "task": TEXT,
        "pointer": TEXT,
        "why": TEXT,
        "schema": OBJECT,
    }
)
_PATH: Final = describe_object(
    {
        "tools": STRINGS,
        "hops": {"type": "integer", "minimum": 1},
        "confidence": PROBABILITY,
        "says": STRINGS,
    }
)
_ALTERNATIVE: Final = describe_object({"tools": STRINGS, "confidence": PROBABILITY})


def read_intent_request(args: Mapping[str, Any]) -> IntentRequest:
    """Read the validated arguments of run_intent."""
    from gateway_project.intent.answer import IntentRequest

    return IntentRequest(
        intent=args["intent"],
        parameters=args.get("parameters", {}),
        considered=tuple(args.get("tools_considered", ())),
        mode=args.get("mode", "auto"),
        context=args.get("context", {}),
    )


async def _run_intent(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from gateway_project import flow
    from gateway_project.foundation import telemetry
    from gateway_project.mcp import large_results
    from gateway_project.runs import task_results

    with telemetry.intent_seconds.time():
        answer = await flow.handle_intent(
            request.effects, request.caller, read_intent_request(args)
        )
    telemetry.intents.labels(answer.mode.value).inc()
    told, blocks = await large_results.lift_media(
        request, answer.as_json() | task_results.speculative_run_to_json(answer.ahead)
    )
    raw = build_structured_reply(told).raw
    meta = task_results.describe_meta(task_results.collect_speculative(answer.ahead))
    return ServerReply(raw={**raw, "content": [*raw["content"], *blocks]}, meta=meta)


RUN_INTENT: Final = MetaTool(
    name="run_intent",
    description=(
        "Suggest a workflow for a task: ordered tools, bound arguments, missing input. "
        "In mode speculative_execution its results are there; else pass it to run_workflow."
    ),
    takes={
        "intent": {
            "type": "string",
            "description": "Whole task in words, with values",
            "minLength": 1,
            "maxLength": MAX_INTENT_LENGTH,
        },
        "parameters": {"type": "object", "description": "Values by parameter name"},
        "context": {
            "type": "object",
            "properties": {"workflow_type": TEXT, "domain": TEXT, "complexity": TEXT},
            "additionalProperties": False,
        },
        "tools_considered": {
            "type": "array",
            "items": TEXT,
            "maxItems": 50,
        },
        "mode": {"enum": ["auto", "suggest"]},
    },
    requires=["intent"],
    output_schema={
        "type": "object",
        "properties": {
            "mode": {"enum": [mode.value for mode in SuggestionMode]},
            "confidence": {**PROBABILITY, "description": "That exactly these tools are right"},
            "evidence": _EVIDENCE,
            "workflow": _SUGGESTED,
            "draft_workflow": {
                **_SUGGESTED,
                "description": "Instead of workflow if mode is explicit_required",
            },
            "reads": {"type": "boolean", "description": "True: read_workflow may run it"},
            "results": {
                "type": "object",
                "description": "By task, of calls made ahead; pass speculation_id as "
                "options.from_speculation to run the workflow with them",
            },
            "status": {
                "enum": [RunStatus.SUCCEEDED.value, RunStatus.PARTIAL_SUCCESS.value],
                "description": "With results: of all tasks, or of those that succeeded in time",
            },
            "results_age_ms": {**COUNT, "description": "Age of the oldest result"},
            "contents": {
                "type": "object",
                "description": "By task: content blocks not in results",
            },
            "fallback_reason": {
                "type": "string",
                "description": "Why it was not run ahead; empty if it was",
            },
            "order": {**STRINGS, "description": "Task ids in sequential order"},
            "bindings": {"type": "array", "items": _BINDING},
            "needs_input": {
                "type": "array",
                "items": _NEEDED,
                "description": "Required but unknown",
            },
            "explanation": STRINGS,
            "dependency_paths": {"type": "array", "items": _PATH},
            "alternatives": {"type": "array", "items": _ALTERNATIVE},
            "warnings": STRINGS,
            "instructions": {"type": "object", "description": "What servers say about their use"},
            "speculation_id": {"type": "string", "description": "Identifies this answer"},
        },
        "required": [
            "mode",
            "confidence",
            "evidence",
            "order",
            "bindings",
            "needs_input",
            "explanation",
            "dependency_paths",
            "alternatives",
            "warnings",
            "fallback_reason",
            "speculation_id",
        ],
    },
    annotations=READ_ONLY,
    serve=_run_intent,
    begins=True,
    begins_beside_others=True,
    carries_results=True,
)


def read_feedback_request(args: Mapping[str, Any]) -> FeedbackRequest:
    """Read the validated arguments of give_feedback."""
    from gateway_project.intent.feedback import FeedbackRequest

    return FeedbackRequest(
        speculation=args["speculation_id"],
        verdict=Verdict(args["verdict"]),
        workflow=args.get("workflow"),
    )


async def _give_feedback(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from gateway_project import flow

    feedback = await flow.give_feedback(
        request.effects, request.caller, read_feedback_request(args)
    )
    return build_structured_reply(feedback.as_json())


GIVE_FEEDBACK: Final = MetaTool(
    name="give_feedback",
    description="Say whether a suggestion was right. Counts once.",
    takes={
        "speculation_id": {"type": "string", "description": "From run_intent"},
        "verdict": {"enum": [verdict.value for verdict in Verdict]},
        "workflow": {"type": "object", "description": "For modify: the right one"},
    },
    requires=["speculation_id", "verdict"],
    output_schema=describe_object(
        {
            "speculation_id": TEXT,
            "outcome": {"enum": [outcome.value for outcome in Outcome]},
            "recorded": {
                "type": "boolean",
                "description": "False: the same verdict had been recorded before",
            },
        }
    ),
    # It changes what the gateway learns, and nothing else.
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
    serve=_give_feedback,
)
