"""Definitions of the meta-tools: few and constant, whatever servers are connected."""

from __future__ import annotations

import functools
from typing import Any, Final

from mcp_types import Tool, ToolAnnotations

from execution.speculation.outcome import Outcome, Verdict
from gateway_project.mcp import run_schema
from graph.relations import EvidenceSource, RelationKind
from tools import ui_pages

SEARCH: Final = "search_tools"
DESCRIBE: Final = "describe_tool"
READ: Final = "read_tool"
CALL: Final = "call_tool"
INTENT: Final = "run_intent"
READ_WORKFLOW: Final = "read_workflow"
RUN: Final = "run_workflow"
GET_RUN: Final = "get_run"
CONTROL_RUN: Final = "control_run"
FEEDBACK: Final = "give_feedback"

MAX_LIMIT: Final = 50
MAX_CONTEXT_TOOLS: Final = 50
MAX_QUERY_LENGTH: Final = 2_000
MAX_INTENT_LENGTH: Final = 200_000
"""Far above the length at which an intent is cut with a warning."""
MAX_CONSIDERED: Final = 50
DEFAULT_LIMIT: Final = 5
DEFAULT_DETAIL: Final = "summary"

_INSTRUCTIONS_START: Final = """\
Foregate fronts many MCP servers and finds the few tools a task needs.

1. search_tools with what you want to do, in plain words, one step at a time. It returns the best \
tools with their arguments; list the tools already in use in context_tools.
2. read_tool, if it is marked reads, else call_tool, with the id found (server:tool) and its \
arguments. Both return the server's own result.
describe_tool returns the full definition if the summary is not enough.
For a task of several steps, run_intent suggests a workflow: tools, order and arguments. In mode \
speculative_execution it was run already, and its results come with it. \
Otherwise read_workflow, if it is marked reads, or run_workflow runs it, or one of your own; \
independent tasks run in parallel. \
A run outlives your request: get_run returns its status and results, control_run controls it. \
give_feedback says whether a suggestion was right, so that the next ones are better. \
If a call needs a person's approval, say so, and give them the link and `manage.py approvals`.
"""
_INSTRUCTIONS_END: Final = """
A failed call says what is wrong and what was expected, and suggests the likely id for a misspelt \
one. A result too large to send is kept for an hour: read it through the link sent instead. \
Resources and prompts of all servers are listed as usual."""
INSTRUCTIONS: Final = f"""{_INSTRUCTIONS_START}
Server tools are not listed here; read_tool and call_tool call them.{_INSTRUCTIONS_END}"""
INSTRUCTIONS_LISTED: Final = f"""{_INSTRUCTIONS_START}
Server tools listed here, as server__tool or by a bare name, can be called directly; \
search_tools also finds the others.{_INSTRUCTIONS_END}"""
"""Instructions where server tools are listed beside the meta-tools."""

_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}

_SEARCH_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "What you want to do",
            "minLength": 1,
            "maxLength": MAX_QUERY_LENGTH,
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "server": _TEXT,
        "category": {"type": "string"},
        "context_tools": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MAX_CONTEXT_TOOLS,
            "description": "In use",
        },
        "token_budget": {"type": "integer", "minimum": 1},
        "detail": {
            "enum": ["name", "summary", "full"],
            "default": DEFAULT_DETAIL,
            "description": "summary: signature of arguments; full: JSON Schema",
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
        "arguments": {"type": "string", "description": "Signature; ? marks optional ones"},
        "schema": _OBJECT,
        "reads": {"type": "boolean", "description": "read_tool may call it"},
    },
    "required": ["tool", "name", "score", "role", "reasons", "warnings"],
}
_SEARCH_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tools": {"type": "array", "items": _FOUND},
        "run_order": {
            **_STRINGS,
            "description": "Ids of tools that belong together, in an order they can run in",
        },
        "tokens": {
            "type": "object",
            "properties": {
                "used": {"type": "integer", "description": "By tools, run_order and warnings"},
                "budget": {"type": "integer"},
                "left_out": {"type": "integer", "description": "Matches over the budget"},
                "listing_all": {"type": "integer", "description": "Cost of listing every tool"},
            },
            "required": ["used", "budget", "left_out", "listing_all"],
        },
        "warnings": _STRINGS,
        "instructions": {**_OBJECT, "description": "What servers say about their use"},
    },
    "required": ["tools", "run_order", "tokens", "warnings"],
}
_RELATION: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "says": {"type": "string", "description": "The relation in words, for the described tool"},
        "kind": {"enum": [kind.value for kind in RelationKind]},
        "source": {"type": "string", "description": "Id of the tool where the relation starts"},
        "target": _TEXT,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "sources": {
            "type": "array",
            "items": {"enum": [source.value for source in EvidenceSource]},
        },
        "required": {"type": "boolean"},
        "unusable": {"type": "string", "description": "Why the other tool cannot be called now"},
        "reason": _TEXT,
        "version": _TEXT,
        "deprecated_at": _TEXT,
        "fields": {
            "type": "array",
            "items": _OBJECT,
            "description": "Which output feeds which input, as JSON pointers",
        },
        "seconds": {"type": "number", "description": "Average time between the two"},
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
            "description": "Whole task in words, with values",
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
        "mode": {"enum": ["auto", "suggest"]},
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
        "annotations": {**_OBJECT, "description": "As the server declares; believed if trusted"},
        "extras": {**_OBJECT, "description": "What else it declares, such as _meta and icons"},
        "server": {
            "type": "object",
            "properties": {
                "name": _TEXT,
                "description": _TEXT,
                "instructions": {"type": "string", "description": "On its use, by itself"},
                "trusted": {"type": "boolean"},
                "enabled": {"type": "boolean"},
                "trouble": {"type": "string", "description": "Empty if it responds"},
            },
        },
        "category": _TEXT,
        "state": {"type": "string", "description": "active, or why it cannot be called"},
        "reads": {"type": "boolean", "description": "Whether read_tool calls it"},
        "danger": {
            "type": "object",
            "properties": {"level": _TEXT, "reasons": _STRINGS},
            "required": ["level", "reasons"],
        },
        "warnings": {
            **_STRINGS,
            "description": "Replacement, unusable requirements, hidden or model-directed text",
        },
        "relations": {"type": "array", "items": _RELATION, "description": "Strongest first"},
        "alternatives": {**_STRINGS, "description": "Ids of tools to use instead"},
        "tokens": {"type": "integer"},
    },
    "required": ["tool", "name", "description", "input_schema", "danger", "state"],
}


MAX_RESULT_CHARS: Final = 200_000
"""Some 50,000 tokens, twice what Claude Code sends a model by default: what carries the results of
several tools may be longer than each."""
_CARRIERS: Final = frozenset({INTENT, READ, CALL, READ_WORKFLOW, RUN, GET_RUN, CONTROL_RUN})
"""Tools that return results of others."""


_LOAD: Final = "anthropic/alwaysLoad"
"""Claude Code's mark for a tool that it loads at once; it searches all others itself."""
_BEGINNERS: Final = frozenset({SEARCH, READ, CALL, INTENT, READ_WORKFLOW, RUN})
"""Tools that a task may begin with, or that what they return is followed by."""
_BEGINNERS_BESIDE_OTHERS: Final = frozenset({SEARCH, INTENT})
"""The same where tools of servers are listed, and called by their own names."""


def _make_tool(name: str, description: str, **fields: Any) -> Tool:
    meta: dict[str, Any] = {"ui": ui_pages.FOR_MODELS}  # no page of a server calls through them
    if name in _BEGINNERS:
        meta[_LOAD] = True
    if name in _CARRIERS:
        meta["anthropic/maxResultSizeChars"] = MAX_RESULT_CHARS
    return Tool(name=name, description=description, _meta=meta, **fields)


_FEEDBACK_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "speculation_id": {"type": "string", "description": "From run_intent"},
        "verdict": {"enum": [verdict.value for verdict in Verdict]},
        "workflow": {"type": "object", "description": "For modify: the right one"},
    },
    "required": ["speculation_id", "verdict"],
    "additionalProperties": False,
}
_FEEDBACK_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "speculation_id": _TEXT,
        "outcome": {"enum": [outcome.value for outcome in Outcome]},
        "recorded": {
            "type": "boolean",
            "description": "False: the same verdict had been recorded before",
        },
    },
    "required": ["speculation_id", "outcome", "recorded"],
}

_CALL_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "server:tool"},
        "arguments": _OBJECT,
        "fresh": {"type": "boolean"},
        "timeout_s": {"type": "number"},
        "select": {"type": "string", "description": "JMESPath"},
        "max_tokens": {"type": "integer"},
    },
    "required": ["tool"],
    "additionalProperties": False,
}
_RECORDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""It changes what the gateway learns, and nothing else."""
_READ_ONLY: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_READS_OUTSIDE: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)
"""Worst case of all tools that only read."""
_MAY_DESTROY: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
"""Worst case of all tools behind a meta-tool."""

TOOLS: Final = (
    _make_tool(
        SEARCH,
        "Find tools across all connected servers by what they do. Search before saying that "
        "something cannot be done.",
        input_schema=_SEARCH_INPUT,
        output_schema=_SEARCH_OUTPUT,
        annotations=_READ_ONLY,
    ),
    _make_tool(
        DESCRIBE,
        "Return a tool's full definition: schemas, danger, relations, alternatives.",
        input_schema={
            "type": "object",
            "properties": {"tool": {"type": "string", "description": "server:tool"}},
            "required": ["tool"],
            "additionalProperties": False,
        },
        output_schema=_DESCRIBE_OUTPUT,
        annotations=_READ_ONLY,
    ),
    _make_tool(
        INTENT,
        "Suggest a workflow for a task: ordered tools, bound arguments, missing input. "
        "In mode speculative_execution its results are there; else pass it to run_workflow.",
        input_schema=_INTENT_INPUT,
        output_schema=run_schema.INTENT_OUTPUT,
        annotations=_READ_ONLY,
    ),
    _make_tool(
        READ,
        "As call_tool, for tools marked reads.",
        input_schema=_CALL_INPUT,
        annotations=_READS_OUTSIDE,
    ),
    _make_tool(
        CALL,
        "Call any found tool; returns the server's own result.",
        input_schema=_CALL_INPUT,
        annotations=_MAY_DESTROY,
    ),
    _make_tool(
        READ_WORKFLOW,
        "As run_workflow, if all its tools only read.",
        input_schema=run_schema.READ_INPUT,
        output_schema=run_schema.RUN_OUTPUT,
        annotations=_READS_OUTSIDE,
    ),
    _make_tool(
        RUN,
        "Run a workflow, independent tasks in parallel. The run continues without you.",
        input_schema=run_schema.RUN_INPUT,
        output_schema=run_schema.RUN_OUTPUT,
        annotations=_MAY_DESTROY,
    ),
    _make_tool(
        GET_RUN,
        "Return a run's status and results.",
        input_schema=run_schema.GET_INPUT,
        output_schema=run_schema.STATE_OUTPUT,
        annotations=_READ_ONLY,
    ),
    _make_tool(
        CONTROL_RUN,
        "Control a run. `approve` only prompts the user; it never approves by itself.",
        input_schema=run_schema.CONTROL_INPUT,
        output_schema=run_schema.STATE_OUTPUT,
        annotations=_MAY_DESTROY,
    ),
    _make_tool(
        FEEDBACK,
        "Say whether a suggestion was right. Counts once.",
        input_schema=_FEEDBACK_INPUT,
        output_schema=_FEEDBACK_OUTPUT,
        annotations=_RECORDS,
    ),
)
NAMES: Final = tuple(tool.name for tool in TOOLS)
BY_NAME: Final = {tool.name: tool for tool in TOOLS}
DEFINITIONS: Final = tuple(
    tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in TOOLS
)
"""As they are sent."""


_TASK_WORDS: Final = (
    "For whatever reads, finds, lists, checks, creates, adds, writes, changes, updates, deletes, "
    "sends, posts or runs something: files, folders, web pages, mail, messages, calendar events, "
    "issues, repositories, databases, tables, documents, notes, pictures, maps, weather, prices, "
    "users, orders."
)
"""What a model may search for that knows of no tool yet."""


def _load_fewer(definition: dict[str, Any]) -> dict[str, Any]:
    if definition["name"] in _BEGINNERS_BESIDE_OTHERS:
        return definition
    meta = {key: value for key, value in definition.get("_meta", {}).items() if key != _LOAD}
    rest = {key: value for key, value in definition.items() if key != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def _name_tasks(definition: dict[str, Any]) -> dict[str, Any]:
    if definition["name"] not in {SEARCH, READ, CALL}:  # what every task takes
        return definition
    return {**definition, "description": f"{definition['description']} {_TASK_WORDS}"}


@functools.cache
def list_definitions(
    *, beside_others: bool, found_by_words: bool = False
) -> tuple[dict[str, Any], ...]:
    """Return the meta-tools as they are sent.

    Args:
        beside_others: Whether tools of servers are listed too, so that fewer need be loaded.
        found_by_words: Whether the client's model finds tools by the words of a task.
    """
    definitions = tuple(map(_load_fewer, DEFINITIONS)) if beside_others else DEFINITIONS
    return tuple(map(_name_tasks, definitions)) if found_by_words else definitions
