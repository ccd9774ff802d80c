"""search_tools finds tools by what they do, and describe_tool returns the definition of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation.schema_parts import OBJECT, STRINGS, TEXT, describe_object
from gateway_project.mcp.meta_tool import READ_ONLY, MetaTool
from gateway_project.mcp.results import ServerReply, build_structured_reply
from graph.relations import EvidenceSource, RelationKind

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


def read_find_request(args: Mapping[str, Any]) -> FindRequest:
    """Read the validated arguments of search_tools."""
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


async def _search_tools(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from gateway_project import flow
    from gateway_project.foundation import telemetry

    with telemetry.search_seconds.time():
        result = await flow.find_tools(request.effects, request.caller, read_find_request(args))
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
    serve=_search_tools,
    begins=True,
    begins_beside_others=True,
    serves_every_task=True,
)

_RELATION: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "says": {"type": "string", "description": "The relation in words, for the described tool"},
        "kind": {"enum": [kind.value for kind in RelationKind]},
        "source": {"type": "string", "description": "Id of the tool where the relation starts"},
        "target": TEXT,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "sources": {
            "type": "array",
            "items": {"enum": [source.value for source in EvidenceSource]},
        },
        "required": {"type": "boolean"},
        "unusable": {"type": "string", "description": "Why the other tool cannot be called now"},
        "reason": TEXT,
        "version": TEXT,
        "deprecated_at": TEXT,
        "fields": {
            "type": "array",
            "items": OBJECT,
            "description": "Which output feeds which input, as JSON pointers",
        },
        "seconds": {"type": "number", "description": "Average time between the two"},
        "successes": {"type": "number"},
        "failures": {"type": "number"},
    },
    "required": ["says", "kind", "source", "target", "confidence", "sources"],
}


async def _describe_tool(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    from gateway_project import flow
    from gateway_project.foundation.computing import run_in_worker_thread

    await request.require_for_model(args["tool"])
    described = await flow.describe_tool(request.effects, request.caller, args["tool"])
    name = request.find_listed_name(described.tool.tool)
    return await run_in_worker_thread(lambda: build_structured_reply(described.as_json(name)))


DESCRIBE_TOOL: Final = MetaTool(
    name="describe_tool",
    description="Return a tool's full definition: schemas, danger, relations, alternatives.",
    takes={"tool": {"type": "string", "description": "server:tool"}},
    requires=["tool"],
    output_schema={
        "type": "object",
        "properties": {
            "tool": TEXT,
            "name": TEXT,
            "title": TEXT,
            "description": TEXT,
            "input_schema": OBJECT,
            "output_schema": {"type": ["object", "null"]},
            "annotations": {
                **OBJECT,
                "description": "As the server declares; believed if trusted",
            },
            "extras": {
                **OBJECT,
                "description": "What else it declares, such as _meta and icons",
            },
            "server": {
                "type": "object",
                "properties": {
                    "name": TEXT,
                    "description": TEXT,
                    "instructions": {"type": "string", "description": "On its use, by itself"},
                    "trusted": {"type": "boolean"},
                    "enabled": {"type": "boolean"},
                    "trouble": {"type": "string", "description": "Empty if it responds"},
                },
            },
            "category": TEXT,
            "state": {"type": "string", "description": "active, or why it cannot be called"},
            "reads": {"type": "boolean", "description": "Whether read_tool calls it"},
            "danger": describe_object({"level": TEXT, "reasons": STRINGS}),
            "warnings": {
                **STRINGS,
                "description": "Replacement, unusable requirements, hidden or model-directed text",
            },
            "relations": {
                "type": "array",
                "items": _RELATION,
                "description": "Strongest first",
            },
            "alternatives": {**STRINGS, "description": "Ids of tools to use instead"},
            "tokens": {"type": "integer"},
        },
        "required": ["tool", "name", "description", "input_schema", "danger", "state"],
    },
    annotations=READ_ONLY,
    serve=_describe_tool,
)
