"""The tools that the conformance suite calls, and a few of our own for the journeys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.conformance.content import (
    EVERY_CHOICE,
    EVERY_DEFAULT,
    EVERY_KEYWORD,
    NO_ARGUMENTS,
    embedded,
    picture,
    sound,
    text,
)
from tests.servers.conformance.dialogue import Dialogue, form, roots, sample

STRING = {"type": "string"}
PAUSE_S = 0.05

Answer = str | list[dict[str, Any]]
Run = Callable[..., Awaitable[Answer]]


class ToolFailed(Exception):
    """What the model is told instead of a result."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool: what it is listed as, and what it does."""

    name: str
    description: str
    schema: dict[str, Any]
    run: Run

    @property
    def listed(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }


TOOLS: dict[str, Tool] = {}


def tool(schema: dict[str, Any] = NO_ARGUMENTS) -> Callable[[Run], Run]:
    """Add a function to the tools, under its own name and first line."""

    def add(run: Run) -> Run:
        name, description = run.__name__, (run.__doc__ or "").strip()
        TOOLS[name] = Tool(name=name, description=description, schema=schema, run=run)
        return run

    return add


def strings(*names: str, required: bool = True) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict.fromkeys(names, STRING),
        "required": list(names) if required else [],
    }


@tool()
async def test_simple_text(talk: Dialogue) -> Answer:
    """Return a text."""
    return "This is a simple text response for testing."


@tool()
async def test_image_content(talk: Dialogue) -> Answer:
    """Return a picture."""
    return [picture()]


@tool()
async def test_audio_content(talk: Dialogue) -> Answer:
    """Return a sound."""
    return [sound()]


@tool()
async def test_embedded_resource(talk: Dialogue) -> Answer:
    """Return a resource inside the result."""
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@tool()
async def test_multiple_content_types(talk: Dialogue) -> Answer:
    """Return a text, a picture and a resource."""
    resource = embedded("test://mixed-content-resource", '{"test": 1}', mime="application/json")
    return [text("Multiple content types test:"), picture(), resource]


@tool()
async def test_tool_with_logging(talk: Dialogue) -> Answer:
    """Log three times on the way."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await talk.log(line)
        await asyncio.sleep(PAUSE_S)
    return "logged"


@tool()
async def test_logging_tool(talk: Dialogue) -> Answer:
    """Log once, for whoever wants to hear it."""
    await talk.log("said in passing")
    return "logged"


@tool()
async def test_tool_with_progress(talk: Dialogue) -> Answer:
    """Report progress three times."""
    for done in (0, 50, 100):
        await talk.progress(done, 100)
        await asyncio.sleep(PAUSE_S)
    return "done"


@tool()
async def test_error_handling(talk: Dialogue) -> Answer:
    """Fail."""
    raise ToolFailed("This tool intentionally returns an error for testing")


@tool(strings("prompt"))
async def test_sampling(talk: Dialogue, prompt: str) -> Answer:
    """Ask the client's model."""
    answer = await talk.ask("sample", sample(prompt))
    return f"LLM response: {answer['content']['text']}"


@tool(strings("message"))
async def test_elicitation(talk: Dialogue, message: str) -> Answer:
    """Ask the user for a name and an address."""
    answer = await talk.ask("user", form(message, username=STRING, email=STRING))
    return f"User response: action={answer['action']}, content={_json(answer.get('content'))}"


@tool()
async def test_elicitation_sep1034_defaults(talk: Dialogue) -> Answer:
    """Ask the user with a default for each type."""
    return _completed(await talk.ask("form", form("Check these", required=[], **EVERY_DEFAULT)))


@tool()
async def test_elicitation_sep1330_enums(talk: Dialogue) -> Answer:
    """Ask the user to choose, in each form of choice."""
    return _completed(await talk.ask("form", form("Choose", required=[], **EVERY_CHOICE)))


@tool(EVERY_KEYWORD)
async def json_schema_2020_12_tool(talk: Dialogue, **given: Any) -> Answer:
    """Accept what a schema with every keyword accepts."""
    return _json(given)


@tool(
    {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "query": {"type": "string"},
        },
        "required": ["region"],
    }
)
async def test_x_mcp_header(talk: Dialogue, region: str, **others: str) -> Answer:
    """Take an argument that is copied into a header."""
    return f"region={region}, others={_json(others)}"


@tool()
async def test_reconnection(talk: Dialogue) -> Answer:
    """Close the stream of this call on the way, where there is one."""
    if talk.ctx.close_sse_stream is not None:
        await asyncio.sleep(PAUSE_S)
        await talk.ctx.close_sse_stream()
        await asyncio.sleep(2 * PAUSE_S)
    return "Reconnection test completed successfully"


@tool()
async def test_list_roots(talk: Dialogue) -> Answer:
    """Ask the client for its roots."""
    answer = await talk.ask("client_roots", roots())
    return "roots: " + ", ".join(root["uri"] for root in answer["roots"])


@tool(strings("message"))
async def test_two_questions(talk: Dialogue, message: str) -> Answer:
    """Ask the user twice, the second time about the first answer."""
    first = await talk.ask("first", form(message, name=STRING))
    name = first["content"]["name"]
    second = await talk.ask("second", form(f"And your colour, {name}?", colour=STRING))
    return f"{name} likes {second['content']['colour']}"


@tool(strings("marker"))
async def test_wait(talk: Dialogue, marker: str) -> Answer:
    """Wait until cancelled; the marker file tells what became of the call."""
    _note(marker, "waiting")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        _note(marker, "cancelled")
        raise
    return ""


def _completed(answer: dict[str, Any]) -> str:
    return (
        f"Elicitation completed: action={answer['action']}, content={_json(answer.get('content'))}"
    )


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _note(marker: str, word: str) -> None:
    Path(marker).write_text(word)
