"""The three APIs that clients speak to their models: what a request says, and the answer to it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Body = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call that the model makes.

    Attributes:
        name: Name of the tool, as the client lists it.
        arguments: Its arguments.
        namespace: Codex's name for the server that has it; empty in other clients.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    namespace: str = ""


class Anthropic:
    """Messages, streamed: Claude Code."""

    path = "/messages"
    search_tool = "ToolSearch"

    @staticmethod
    def loaded(body: Body) -> dict[str, ToolUse]:
        """Return the tools that may be called at once, by their full name."""
        names = {tool["name"]: tool for tool in body.get("tools", ()) if "name" in tool}
        found = json.dumps(body.get("messages", ()))
        return {
            name: ToolUse(name=name)
            for name, tool in names.items()
            if not tool.get("defer_loading") or f'"tool_name": "{name}"' in found
        }

    @staticmethod
    def results(body: Body) -> Iterator[Any]:
        """Yield what the client sent back for each call, in order."""
        for message in body.get("messages", ()):
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block.get("type") == "tool_result":
                    yield block.get("content", "")

    @staticmethod
    def search(query: str, names: Sequence[str]) -> ToolUse:
        """Return a call of the client's own search, by names where the model knows them."""
        query = f"select:{','.join(names)}" if names else query
        return ToolUse(name="ToolSearch", arguments={"query": query, "max_results": 8})

    @staticmethod
    def answer(text: str, uses: Sequence[ToolUse], body: Body) -> bytes:
        """Return the events of an answer."""
        blocks: list[dict[str, Any]] = [
            {"type": "tool_use", "id": _new_id("toolu"), "name": use.name, "input": use.arguments}
            for use in uses
        ] or [{"type": "text", "text": text}]
        stop = "tool_use" if uses else "end_turn"
        usage = {"input_tokens": 1_000, "output_tokens": 10}
        message: dict[str, Any] = {"id": _new_id("msg"), "type": "message", "role": "assistant",
                   "model": body.get("model"), "stop_reason": None, "stop_sequence": None,
                   "content": [], "usage": usage}  # fmt: skip
        if not body.get("stream"):
            return json.dumps({**message, "content": blocks, "stop_reason": stop}).encode()
        events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
        for index, block in enumerate(blocks):
            is_call = block["type"] == "tool_use"
            begun = {**block, "input": {}} if is_call else {**block, "text": ""}
            delta = (
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                if is_call
                else {"type": "text_delta", "text": text}
            )
            events += [
                {"type": "content_block_start", "index": index, "content_block": begun},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        ended = {"stop_reason": stop, "stop_sequence": None}
        events += [
            {"type": "message_delta", "delta": ended, "usage": usage},
            {"type": "message_stop"},
        ]
        return _stream(events)


class Responses:
    """OpenAI's Responses, streamed: Codex."""

    path = "/responses"
    search_tool = "tool_search"

    @staticmethod
    def loaded(body: Body) -> dict[str, ToolUse]:
        """Return the tools that may be called at once, by namespace and name."""
        found: dict[str, ToolUse] = {}
        listed = list(body.get("tools", ()))
        for item in body.get("input", ()):
            if item.get("type") == "tool_search_output":
                listed += item.get("tools", ())
        for tool in listed:
            if tool.get("type") == "namespace":
                space = tool["name"]
                for inner in tool["tools"]:
                    use = ToolUse(name=inner["name"], namespace=space)
                    found[f"{space}__{inner['name']}"] = use
            else:
                name = tool.get("name", tool.get("type"))
                found[name] = ToolUse(name=name)
        return found

    @staticmethod
    def results(body: Body) -> Iterator[Any]:
        """Yield what the client sent back for each call, in order."""
        for item in body.get("input", ()):
            if item.get("type", "").endswith("_output"):
                yield item.get("output", item.get("tools", ""))

    @staticmethod
    def search(query: str, _: Sequence[str]) -> ToolUse:
        """Return a call of the client's own search."""
        return ToolUse(name="tool_search", arguments={"query": query, "limit": 8})

    @staticmethod
    def answer(text: str, uses: Sequence[ToolUse], body: Body) -> bytes:
        """Return the events of an answer."""
        items = [_write_item(use) for use in uses] or [
            {"type": "message", "id": _new_id("msg"), "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": text, "annotations": []}]}
        ]  # fmt: skip
        response: dict[str, Any] = {"id": _new_id("resp"), "object": "response",
                    "model": body.get("model"), "status": "in_progress", "output": []}  # fmt: skip
        usage = {"input_tokens": 1_000, "output_tokens": 10, "total_tokens": 1_010}
        done = {**response, "status": "completed", "output": items, "usage": usage}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": response}]
        events += [
            {"type": "response.output_item.done", "output_index": index, "item": item}
            for index, item in enumerate(items)
        ]
        return _stream([*events, {"type": "response.completed", "response": done}])


class Gemini:
    """generateContent, streamed: Gemini CLI."""

    path = "enerateContent"
    search_tool = ""

    @staticmethod
    def loaded(body: Body) -> dict[str, ToolUse]:
        """Return the tools that may be called at once, by name."""
        return {
            tool["name"]: ToolUse(name=tool["name"])
            for group in body.get("tools", ())
            for tool in group.get("functionDeclarations", ())
        }

    @staticmethod
    def results(body: Body) -> Iterator[Any]:
        """Yield what the client sent back for each call, in order.

        A picture follows its response as a part of its own, and belongs to it.
        """
        for content in body.get("contents", ()):
            parts = content.get("parts", ())
            blobs = [part for part in parts if "inlineData" in part]
            for part in parts:
                if "functionResponse" in part:
                    yield [part["functionResponse"], *blobs]

    @staticmethod
    def search(query: str, _: Sequence[str]) -> ToolUse:
        """Gemini CLI has no search: it sends every definition."""
        raise NotImplementedError(query)

    @staticmethod
    def answer(text: str, uses: Sequence[ToolUse], body: Body) -> bytes:
        """Return the one event of an answer."""
        wants_json = "responseMimeType" in (body.get("generationConfig") or {})
        parts: list[dict[str, Any]] = [
            {"functionCall": {"id": _new_id("call"), "name": use.name, "args": use.arguments}}
            for use in uses
        ] or [{"text": "{}" if wants_json else text}]
        usage = {"promptTokenCount": 1_000, "candidatesTokenCount": 10, "totalTokenCount": 1_010}
        content = {"role": "model", "parts": parts}
        candidate = {"index": 0, "content": content, "finishReason": "STOP"}
        return _stream([{"candidates": [candidate], "usageMetadata": usage}])


Dialect = type[Anthropic] | type[Responses] | type[Gemini]
DIALECTS: tuple[Dialect, ...] = (Anthropic, Responses, Gemini)


def _write_item(use: ToolUse) -> dict[str, Any]:
    if use.name == Responses.search_tool:
        return {"type": "tool_search_call", "call_id": _new_id("call"), "execution": "client",
                "status": "completed", "arguments": use.arguments}  # fmt: skip
    item = {"type": "function_call", "id": _new_id("fc"), "call_id": _new_id("call"),
            "status": "completed", "name": use.name,
            "arguments": json.dumps(use.arguments)}  # fmt: skip
    return {**item, "namespace": use.namespace} if use.namespace else item


def _new_id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


def _stream(events: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(
        (f"event: {event['type']}\n" if "type" in event else "").encode()
        + b"data: " + json.dumps(event).encode() + b"\r\n\r\n"
        for event in events
    )  # fmt: skip
