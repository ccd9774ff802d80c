"""The tools a client sees: few, always the same, whatever servers stand behind them."""

from __future__ import annotations

from typing import Any, Final

from mcp_types import Tool, ToolAnnotations

from gateway_project.mcp import run_schema
from gateway_project.mcp.intent_schema import INTENT_OUTPUT
from graph.relations import Kind, Source

SEARCH: Final = "search_tools"
DESCRIBE: Final = "describe_tool"
CALL: Final = "call_tool"
INTENT: Final = "run_intent"
RUN: Final = "run_workflow"
GET_RUN: Final = "get_run"
CONTROL_RUN: Final = "control_run"

MAX_LIMIT: Final = 50
MAX_CONTEXT_TOOLS: Final = 50
MAX_QUERY_LENGTH: Final = 2_000
MAX_INTENT_LENGTH: Final = 200_000
"""Far more than is read of an intent, which is cut with a warning."""
MAX_CONSIDERED: Final = 50
DEFAULT_LIMIT: Final = 5
DEFAULT_DETAIL: Final = "summary"

_HOW: Final = """\
Foregate stands before many MCP servers and finds the few tools a task needs.

1. search_tools with what you want to do, in plain words, one step at a time. It returns the best \
tools with their arguments; name in context_tools the ones you use already.
2. call_tool with the id found (server:tool) and its arguments. The result is the server's own.
describe_tool gives the whole definition where the summary does not suffice.
For a task of several steps, run_intent suggests a workflow: tools, order and arguments. \
run_workflow runs it, or one of your own: tasks that do not wait for one another run at once. \
A run outlives your request: get_run tells how it stands and what it gave, control_run steers it. \
Where a person has to approve a call, say so and give them the link.
"""
_REST: Final = """
A failed call says what is wrong and what is expected; a misspelt id is answered with the likely \
one. A result too large to send is kept for an hour: read it by the link in its place. Resources \
and prompts of all servers are listed as usual."""
INSTRUCTIONS: Final = f"""{_HOW}
Tools of the servers are not listed here and are called through call_tool only.{_REST}"""
INSTRUCTIONS_LISTED: Final = f"""{_HOW}
Tools of servers that are listed here, as server__tool or by a bare name, can be called directly; \
search finds the others too.{_REST}"""
"""Where tools of servers are listed beside the gateway's own."""

_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}

_SEARCH_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "What to do, in words",
            "minLength": 1,
            "maxLength": MAX_QUERY_LENGTH,
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "server": {"type": "string", "description": "Only this server"},
        "category": {"type": "string"},
        "context_tools": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MAX_CONTEXT_TOOLS,
            "description": "Ids in use already",
        },
        "token_budget": {
            "type": "integer",
            "minimum": 1,
            "description": "Tokens the tools may cost",
        },
        "detail": {
            "enum": ["name", "summary", "full"],
            "default": DEFAULT_DETAIL,
            "description": "summary has arguments in short, full the JSON Schema",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
_FOUND: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "Id for call_tool"},
        "name": {"type": "string", "description": "Exposed name"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "role": {
            "enum": ["match", "required", "related"],
            "description": "required: call it before the match above it",
        },
        "reasons": _STRINGS,
        "warnings": _STRINGS,
        "description": _TEXT,
        "arguments": {"type": "string", "description": "Signature; ? marks what may be left out"},
        "schema": _OBJECT,
    },
    "required": ["tool", "name", "score", "role", "reasons", "warnings"],
}
_SEARCH_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tools": {"type": "array", "items": _FOUND},
        "run_order": {
            **_STRINGS,
            "description": "Ids of tools that belong together, in an order in which they can run",
        },
        "tokens": {
            "type": "object",
            "properties": {
                "used": {"type": "integer", "description": "Of tools, run_order and warnings"},
                "budget": {"type": "integer"},
                "left_out": {"type": "integer", "description": "Matches beyond the budget"},
                "listing_all": {"type": "integer", "description": "Of listing every tool"},
            },
            "required": ["used", "budget", "left_out", "listing_all"],
        },
        "warnings": _STRINGS,
    },
    "required": ["tools", "run_order", "tokens", "warnings"],
}
_RELATION: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "says": {"type": "string", "description": "What the described tool does"},
        "kind": {"enum": [kind.value for kind in Kind]},
        "source": {"type": "string", "description": "Id of the tool that it starts from"},
        "target": _TEXT,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "sources": {"type": "array", "items": {"enum": [source.value for source in Source]}},
        "required": {"type": "boolean"},
        "unusable": {"type": "string", "description": "Why the other cannot be called now"},
        "reason": _TEXT,
        "version": _TEXT,
        "deprecated_at": _TEXT,
        "fields": {
            "type": "array",
            "items": _OBJECT,
            "description": "Which output feeds which input, as JSON pointers",
        },
        "seconds": {"type": "number", "description": "Between the two, on average"},
        "successes": {"type": "number"},
        "failures": {"type": "number"},
    },
    "required": ["says", "kind", "source", "target", "confidence", "sources"],
}
_INTENT_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "intent": {
            "type": "string",
            "description": "The whole task, in words, with its values",
            "minLength": 1,
            "maxLength": MAX_INTENT_LENGTH,
        },
        "parameters": {"type": "object", "description": "Values by parameter name"},
        "context": {
            "type": "object",
            "properties": {"workflow_type": _TEXT, "domain": _TEXT, "complexity": _TEXT},
            "additionalProperties": False,
        },
        "tools_considered": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MAX_CONSIDERED,
        },
        "mode": {"enum": ["auto", "suggest"], "default": "auto"},
    },
    "required": ["intent"],
    "additionalProperties": False,
}
_DESCRIBE_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tool": _TEXT,
        "name": _TEXT,
        "title": _TEXT,
        "description": _TEXT,
        "input_schema": _OBJECT,
        "output_schema": {"type": ["object", "null"]},
        "annotations": {**_OBJECT, "description": "As its server says; believed where trusted"},
        "server": {
            "type": "object",
            "properties": {
                "name": _TEXT,
                "description": _TEXT,
                "trusted": {"type": "boolean"},
                "enabled": {"type": "boolean"},
                "trouble": {"type": "string", "description": "Empty where it answers"},
            },
        },
        "category": _TEXT,
        "state": {"type": "string", "description": "active, or why it cannot be called"},
        "danger": {
            "type": "object",
            "properties": {"level": _TEXT, "reasons": _STRINGS},
            "required": ["level", "reasons"],
        },
        "warnings": {
            **_STRINGS,
            "description": "What replaces it, what it lacks, what its texts hide or tell models",
        },
        "relations": {"type": "array", "items": _RELATION, "description": "Strongest first"},
        "alternatives": {**_STRINGS, "description": "Ids of tools that may do instead"},
        "tokens": {"type": "integer"},
    },
    "required": ["tool", "name", "description", "input_schema", "danger", "state"],
}


def _tool(name: str, description: str, **fields: Any) -> Tool:
    return Tool(name=name, description=description, _meta={"anthropic/alwaysLoad": True}, **fields)


_READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_WORST: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
"""What any tool behind it may do."""

TOOLS: Final = (
    _tool(
        SEARCH,
        "Find tools of all connected servers by what they do. Search before saying that "
        "something cannot be done.",
        input_schema=_SEARCH_INPUT,
        output_schema=_SEARCH_OUTPUT,
        annotations=_READS,
    ),
    _tool(
        DESCRIBE,
        "Give the whole definition of a tool: schemas, danger, relations, alternatives.",
        input_schema={
            "type": "object",
            "properties": {"tool": {"type": "string", "description": "server:tool"}},
            "required": ["tool"],
            "additionalProperties": False,
        },
        output_schema=_DESCRIBE_OUTPUT,
        annotations=_READS,
    ),
    _tool(
        INTENT,
        "Suggest a workflow for a task: tools in order, arguments bound, what is still needed. "
        "Runs nothing; pass its workflow to run_workflow.",
        input_schema=_INTENT_INPUT,
        output_schema=INTENT_OUTPUT,
        annotations=_READS,
    ),
    _tool(
        CALL,
        "Call a tool that search_tools found; returns its server's result unaltered.",
        input_schema={
            "type": "object",
            "properties": {
                "tool": {"type": "string", "description": "server:tool"},
                "arguments": {
                    "type": "object",
                    "description": "As the tool's schema says",
                },
            },
            "required": ["tool"],
            "additionalProperties": False,
        },
        annotations=_WORST,
    ),
    _tool(
        RUN,
        "Run a workflow, independent tasks in parallel; it goes on without you.",
        input_schema=run_schema.RUN_INPUT,
        output_schema=run_schema.RUN_OUTPUT,
        annotations=_WORST,
    ),
    _tool(
        GET_RUN,
        "Tell how a run stands, with results.",
        input_schema=run_schema.GET_INPUT,
        output_schema=run_schema.STATE_OUTPUT,
        annotations=_READS,
    ),
    _tool(
        CONTROL_RUN,
        "Steer a run; approve only has the user asked.",
        input_schema=run_schema.CONTROL_INPUT,
        output_schema=run_schema.STATE_OUTPUT,
        annotations=_WORST,
    ),
)
NAMES: Final = tuple(tool.name for tool in TOOLS)
BY_NAME: Final = {tool.name: tool for tool in TOOLS}
DEFINITIONS: Final = tuple(
    tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in TOOLS
)
"""As they are sent."""
