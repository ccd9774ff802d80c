"""The server: both eras, or one of them, on the SDK's low-level server."""

from __future__ import annotations

import os
import warnings
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tests.servers.conformance import documents, stateless_tools, tasks
from tests.servers.conformance.content import NO_ARGUMENTS, text
from tests.servers.conformance.dialogue import Dialogue, NeedsInput
from tests.servers.conformance.tools import TOOLS, Answer, Tool, ToolFailed

assert stateless_tools  # importing it adds its tools

CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
STATE_KEY = b"a key that every process of this fixture has"
REFUSED_BY = {"legacy": "server/discover", "modern": "initialize"}

Ctx = ServerRequestContext[Any, Any]


class Fixture(Server[Any]):
    """Lists, calls and reads; changes its lists on request."""

    def __init__(self, *, era: str = "both") -> None:
        self.bus = InMemorySubscriptionBus()
        self.tools = dict(TOOLS)
        self.prompts = list(documents.PROMPTS)
        self.watched: set[str] = set()
        self.passing = ""
        self.changes = 0
        for run in (self.test_trigger_tool_change, self.test_trigger_prompt_change, self.touch):
            self._add(run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            super().__init__(
                "conformance-fixture",
                version="1.0.0",
                instructions="Serves the conformance suite.",
                cache_hints={
                    method: CacheHint(ttl_ms=1000, scope="public")
                    for method in (*CACHED, "resources/read")
                },
                get_tool_input_schema=self._input_schema,
                on_list_tools=_typed(self._list_tools),
                on_call_tool=_typed(self._call_tool),
                on_list_resources=_typed(self._list_resources),
                on_list_resource_templates=_typed(self._list_templates),
                on_read_resource=_typed(self._read),
                on_subscribe_resource=self._subscribe,
                on_unsubscribe_resource=self._unsubscribe,
                on_subscriptions_listen=ListenHandler(self.bus),
                on_list_prompts=_typed(self._list_prompts),
                on_get_prompt=_typed(self._get_prompt),
                on_completion=_typed(self._complete),
                on_set_logging_level=self._set_level,
            )
        tasks.serve(self)
        security = RequestStateSecurity(keys=[STATE_KEY])
        self.middleware.append(RequestStateBoundary(security, default_audience=self.name))
        if era in REFUSED_BY:
            self.middleware.insert(0, _refuse(REFUSED_BY[era]))

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> Any:
        """Say in the handshake that every list may change."""
        every = NotificationOptions(True, True, True)
        return super().create_initialization_options(every, *args[1:], **kwargs)

    def _add(self, run: Any) -> None:
        tool = Tool(name=run.__name__, description=run.__doc__, schema=NO_ARGUMENTS, run=run)
        self.tools[tool.name] = tool

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        return self.tools[name].schema if name in self.tools else None

    async def _list_tools(self, ctx: Ctx, params: Any) -> Any:
        return {"tools": [self.tools[name].listed for name in sorted(self.tools)]}

    async def _call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> Any:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}")
        try:
            answer = await tool.run(Dialogue.of(ctx, params), **(params.arguments or {}))
        except (NeedsInput, tasks.Started) as other:
            return other.result
        except (ToolFailed, TypeError) as error:
            return {"content": [text(str(error))], "isError": True}
        return {"content": [text(answer)] if isinstance(answer, str) else answer}

    async def _list_resources(self, ctx: Ctx, params: Any) -> Any:
        return {"resources": documents.RESOURCES}

    async def _list_templates(self, ctx: Ctx, params: Any) -> Any:
        return {"resourceTemplates": documents.TEMPLATES}

    async def _read(self, ctx: Ctx, params: types.ReadResourceRequestParams) -> Any:
        return documents.read(str(params.uri))

    async def _list_prompts(self, ctx: Ctx, params: Any) -> Any:
        return {"prompts": self.prompts}

    async def _get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> Any:
        talk = Dialogue.of(ctx, params)
        try:
            return await documents.prompt(talk, params.name, params.arguments or {})
        except NeedsInput as needed:
            return needed.result

    async def _complete(self, ctx: Ctx, params: types.CompleteRequestParams) -> Any:
        return documents.complete(params.argument.value)

    async def _set_level(self, ctx: Ctx, params: types.SetLevelRequestParams) -> Any:
        return {}

    async def _subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> Any:
        self.watched.add(str(params.uri))
        return {}

    async def _unsubscribe(self, ctx: Ctx, params: types.UnsubscribeRequestParams) -> Any:
        self.watched.discard(str(params.uri))
        return {}

    async def _tell(self, talk: Dialogue, event: ServerEvent) -> None:
        """Tell listeners of the stateless era, and this client if it is of the other."""
        await self.bus.publish(event)
        if talk.is_modern:
            return
        if isinstance(event, ToolsListChanged):
            await talk.ctx.session.send_tool_list_changed()
        elif isinstance(event, PromptsListChanged):
            await talk.ctx.session.send_prompt_list_changed()
        elif isinstance(event, ResourceUpdated) and event.uri in self.watched:
            await talk.ctx.session.send_resource_updated(event.uri)

    async def test_trigger_tool_change(self, talk: Dialogue) -> Answer:
        """Put another tool in the place of one that was added before."""

        async def run(talk: Dialogue) -> Answer:
            return "here for now"

        self.tools.pop(self.passing, None)
        self.changes += 1
        self.passing = f"test_dynamic_tool_{os.getpid()}_{self.changes}"
        self.tools[self.passing] = Tool(
            name=self.passing, description="Comes and goes.", schema=NO_ARGUMENTS, run=run
        )
        await self._tell(talk, ToolsListChanged())
        return f"{self.passing} added"

    async def test_trigger_prompt_change(self, talk: Dialogue) -> Answer:
        """Add a prompt, or take it away again."""
        if len(self.prompts) == len(documents.PROMPTS):
            self.prompts.append({"name": "test_dynamic_prompt", "description": "Comes and goes."})
        else:
            self.prompts.pop()
        await self._tell(talk, PromptsListChanged())
        return f"{len(self.prompts)} prompts"

    async def touch(self, talk: Dialogue) -> Answer:
        """Change the watched resource."""
        await self._tell(talk, ResourceUpdated(uri=documents.WATCHED))
        return "touched"


def _typed(handle: Any) -> Any:
    """Say of each result in the stateless era what kind it is."""

    async def handler(ctx: Ctx, params: Any) -> Any:
        result = await handle(ctx, params)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            result.setdefault("resultType", "complete")
        return result

    return handler


def _refuse(refused: str) -> Any:
    """Answer the opening of the other era as a server does that has never heard of it."""

    async def middleware(ctx: Ctx, call_next: CallNext) -> HandlerResult:
        if ctx.method == refused:
            raise MCPError(types.METHOD_NOT_FOUND, f"Method not found: {refused}")
        return await call_next(ctx)

    return middleware
