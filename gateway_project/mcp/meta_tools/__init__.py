"""The meta-tools: few and constant, whatever servers are connected.

Each is a `MetaTool` that a module of this folder makes. They are listed before Django is loaded,
and where it cannot be: so what serves them is imported in the functions that use it.
"""

from __future__ import annotations

from typing import Any, Final

from gateway_project.mcp.meta_tool import LOAD, MetaTool
from gateway_project.mcp.meta_tools.call import CALL_TOOL, READ_TOOL
from gateway_project.mcp.meta_tools.find import DESCRIBE_TOOL, SEARCH_TOOLS
from gateway_project.mcp.meta_tools.runs import CONTROL_RUN, GET_RUN, READ_WORKFLOW, RUN_WORKFLOW
from gateway_project.mcp.meta_tools.suggest import GIVE_FEEDBACK, RUN_INTENT

TOOLS: Final[dict[str, MetaTool]] = {
    tool.name: tool
    for tool in (
        SEARCH_TOOLS,
        DESCRIBE_TOOL,
        RUN_INTENT,
        READ_TOOL,
        CALL_TOOL,
        READ_WORKFLOW,
        RUN_WORKFLOW,
        GET_RUN,
        CONTROL_RUN,
        GIVE_FEEDBACK,
    )
}
"""By name, in the order in which clients list them."""

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

_TASK_WORDS: Final = (
    "For whatever reads, finds, lists, checks, creates, adds, writes, changes, updates, deletes, "
    "sends, posts or runs something: files, folders, web pages, mail, messages, calendar events, "
    "issues, repositories, databases, tables, documents, notes, pictures, maps, weather, prices, "
    "users, orders."
)
"""What a model may search for that knows of no tool yet."""


def list_definitions(
    *, beside_others: bool, found_by_words: bool = False
) -> tuple[dict[str, Any], ...]:
    """Return the meta-tools as they are sent.

    Args:
        beside_others: Whether tools of servers are listed too, so that fewer need be loaded.
        found_by_words: Whether the client's model finds tools by the words of a task.
    """
    return tuple(
        _adapt(tool, beside_others=beside_others, found_by_words=found_by_words)
        for tool in TOOLS.values()
    )


def _adapt(tool: MetaTool, *, beside_others: bool, found_by_words: bool) -> dict[str, Any]:
    adapted = dict(tool.definition)
    if beside_others and not tool.begins_beside_others:
        meta = adapted.pop("_meta")
        adapted["_meta"] = {key: value for key, value in meta.items() if key != LOAD}
    if found_by_words and tool.serves_every_task:
        adapted["description"] += f" {_TASK_WORDS}"
    return adapted
