"""give_feedback says whether a suggestion was right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_types import ToolAnnotations

from execution.speculation.outcome import Outcome, Verdict
from gateway_project.foundation.schema_parts import TEXT, describe_object
from gateway_project.mcp.meta_tool import MetaTool
from gateway_project.mcp.results import ServerReply, build_structured_reply

if TYPE_CHECKING:
    from gateway_project.intent.feedback import FeedbackRequest
    from gateway_project.mcp.client_request import ClientRequest


def read_request(args: Mapping[str, Any]) -> FeedbackRequest:
    """Read the validated arguments."""
    from gateway_project.intent.feedback import FeedbackRequest

    return FeedbackRequest(
        speculation=args["speculation_id"],
        verdict=Verdict(args["verdict"]),
        workflow=args.get("workflow"),
    )


async def _serve(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from gateway_project import flow

    feedback = await flow.give_feedback(request.effects, request.caller, read_request(args))
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
    serve=_serve,
)
