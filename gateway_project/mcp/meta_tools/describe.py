"""describe_tool returns a tool's full definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation.schema_parts import OBJECT, STRINGS, TEXT, describe_object
from gateway_project.mcp.meta_tool import READ_ONLY, MetaTool
from gateway_project.mcp.results import ServerReply, build_structured_reply
from graph.relations import EvidenceSource, RelationKind

if TYPE_CHECKING:
    from gateway_project.mcp.client_request import ClientRequest

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


async def _serve(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
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
    serve=_serve,
)
