"""A meta-tool: all that clients are told of one of the gateway's own tools, and what serves it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from mcp_types import Tool, ToolAnnotations

from tools import ui_pages

if TYPE_CHECKING:
    from gateway_project.mcp.client_request import ClientRequest
    from gateway_project.mcp.results import ServerReply

LOAD: Final = "anthropic/alwaysLoad"
"""Claude Code's mark for a tool that it loads at once; it searches all others itself."""
MAX_RESULT_CHARS: Final = 200_000
"""Some 50,000 tokens, twice what Claude Code sends a model by default: what carries the results of
several tools may be longer than each."""

READ_ONLY: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
READS_OUTSIDE: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)
"""Worst case of all tools that only read."""
MAY_DESTROY: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
"""Worst case of all tools behind a meta-tool."""


@dataclass(frozen=True, kw_only=True)
class MetaTool:
    """One of the gateway's own tools; a module of `gateway_project.mcp.meta_tools` makes it.

    Attributes:
        name: Listed and called by; reserved in `tools.ids`.
        description: For models; every client pays its tokens.
        takes: Schemas of its arguments by name; others are refused.
        requires: Names of the arguments that every call needs.
        output_schema: Of the structured content; None: the answer is a server's own result.
        annotations: Hints for clients.
        serve: Answers a call, given the arguments as validated, without nulls. What it raises is
            told to the client: a `UserError` by its code, anything else as a defect.
        begins: Whether a task may begin with it, or with what follows a beginning: then clients
            that search tools load it at once.
        begins_beside_others: The same where tools of servers are listed, and called by their own
            names.
        carries_results: Whether it returns results of other tools.
        serves_every_task: Whether it names tasks, for models that find tools by their words.
    """

    name: str
    description: str
    takes: Mapping[str, Any]
    requires: Sequence[str]
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations
    serve: Callable[[ClientRequest, Mapping[str, Any]], Awaitable[ServerReply]]
    begins: bool = False
    begins_beside_others: bool = False
    carries_results: bool = False
    serves_every_task: bool = False

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The schema that arguments are validated against."""
        return {
            "type": "object",
            "properties": dict(self.takes),
            "required": list(self.requires),
            "additionalProperties": False,
        }

    @cached_property
    def listed(self) -> Tool:
        """The tool as the SDK lists it."""
        meta: dict[str, Any] = {"ui": ui_pages.FOR_MODELS}  # no page of a server calls through it
        if self.begins:
            meta[LOAD] = True
        if self.carries_results:
            meta["anthropic/maxResultSizeChars"] = MAX_RESULT_CHARS
        return Tool(
            name=self.name,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            annotations=self.annotations,
            _meta=meta,
        )

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The tool as it is sent."""
        return self.listed.model_dump(by_alias=True, mode="json", exclude_none=True)
