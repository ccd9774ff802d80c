"""search_tools finds tools by what they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation.schema_parts import OBJECT, STRINGS, TEXT, describe_object
from gateway_project.mcp.meta_tool import READ_ONLY, MetaTool
from gateway_project.mcp.results import ServerReply, build_structured_reply

if TYPE_CHECKING:
    from gateway_project.find.answers import FindRequest
    from gateway_project.mcp.client_request import ClientRequest

MAX_QUERY_LENGTH: Final = 2_000
DEFAULT_LIMIT: Final = 5
DEFAULT_DETAIL: Final = "summary"

_FOUND: Final = describe_object(
    {
        "tool": {"type": "string", "description": "Id for call_tool"},
        "name": {"type": "string", "description": "Exposed name"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "role": {
            "enum": ["match", "required", "related"],
            "description": "required: call it before the match above it",
        },
        "reasons": STRINGS,
        "warnings": STRINGS,
        "description": TEXT,
        "arguments": {"type": "string", "description": "Signature; ? marks optional ones"},
        "schema": OBJECT,
        "reads": {"type": "boolean", "description": "read_tool may call it"},
    },
    optional=("description", "arguments", "schema", "reads"),
)


def read_request(args: Mapping[str, Any]) -> FindRequest:
    """Read the validated arguments."""
    from gateway_project.find.answers import FindRequest

    return FindRequest(
        query=args["query"],
        limit=int(args.get("limit", DEFAULT_LIMIT)),
        server=args.get("server"),
        category=args.get("category"),
        token_budget=args.get("token_budget"),
        context_tools=tuple(args.get("context_tools", ())),
        detail=args.get("detail", DEFAULT_DETAIL),
    )


async def _serve(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from gateway_project import flow
    from gateway_project.foundation import telemetry

    with telemetry.search_seconds.time():
        result = await flow.find_tools(request.effects, request.caller, read_request(args))
    telemetry.searches.labels("ok" if result.tools else "nothing").inc()
    found = result.as_json()
    for card in found["tools"]:
        card["name"] = request.find_listed_name(card["tool"]) or card["name"]
    return build_structured_reply(found)


SEARCH_TOOLS: Final = MetaTool(
    name="search_tools",
    description=(
        "Find tools across all connected servers by what they do. Search before saying that "
        "something cannot be done."
    ),
    takes={
        "query": {
            "type": "string",
            "description": "What you want to do",
            "minLength": 1,
            "maxLength": MAX_QUERY_LENGTH,
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 50,
            "default": DEFAULT_LIMIT,
        },
        "server": TEXT,
        "category": TEXT,
        "context_tools": {
            "type": "array",
            "items": TEXT,
            "maxItems": 50,
            "description": "In use",
        },
        "token_budget": {"type": "integer", "minimum": 1},
        "detail": {
            "enum": ["name", "summary", "full"],
            "default": DEFAULT_DETAIL,
            "description": "summary: signature of arguments; full: JSON Schema",
        },
    },
    requires=["query"],
    output_schema=describe_object(
        {
            "tools": {"type": "array", "items": _FOUND},
            "run_order": {
                **STRINGS,
                "description": "Ids of tools that belong together, in an order they can run in",
            },
            "tokens": describe_object(
                {
                    "used": {
                        "type": "integer",
                        "description": "By tools, run_order and warnings",
                    },
                    "budget": {"type": "integer"},
                    "left_out": {"type": "integer", "description": "Matches over the budget"},
                    "listing_all": {
                        "type": "integer",
                        "description": "Cost of listing every tool",
                    },
                }
            ),
            "warnings": STRINGS,
            "instructions": {**OBJECT, "description": "What servers say about their use"},
        },
        optional=("instructions",),
    ),
    annotations=READ_ONLY,
    serve=_serve,
    begins=True,
    begins_beside_others=True,
    serves_every_task=True,
)
