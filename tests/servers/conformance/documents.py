"""The resources and prompts that the conformance suite reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from tests.servers.conformance.content import PNG, embedded, picture, text
from tests.servers.conformance.dialogue import Dialogue, form
from tests.servers.conformance.tools import STRING

WATCHED = "test://watched-resource"
TEMPLATE = "test://template/{id}/data"
COMPLETIONS = ["paris", "park", "party", "testing", "tested"]

RESOURCES: list[dict[str, Any]] = [
    {"uri": uri, "name": name, "description": description, "mimeType": mime}
    for uri, name, description, mime in (
        ("test://static-text", "static text", "A text that stays.", "text/plain"),
        ("test://static-binary", "static picture", "A picture that stays.", "image/png"),
        (WATCHED, "watched", "A text that changes.", "text/plain"),
    )
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": TEMPLATE,
        "name": "data",
        "description": "Data by id.",
        "mimeType": "application/json",
    }
]


def read(uri: str) -> dict[str, Any]:
    """Return the contents of a resource."""
    if uri == "test://static-binary":
        return _contents(uri, "image/png", blob=PNG)
    if uri == "test://static-text":
        return _contents(uri, "text/plain", text="This text stays as it is.")
    if uri == WATCHED:
        return _contents(uri, "text/plain", text="Watched resource content")
    if found := re.fullmatch(r"test://template/([^/]+)/data", uri):
        data = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
        return _contents(uri, "application/json", text=json.dumps(data))
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


def _contents(uri: str, mime: str, **body: str) -> dict[str, Any]:
    return {"contents": [{"uri": uri, "mimeType": mime, **body}]}


def _prompt(name: str, description: str, *arguments: str) -> dict[str, Any]:
    taken = [
        {"name": argument, "description": f"The {argument}.", "required": True}
        for argument in arguments
    ]
    return {"name": name, "description": description, "arguments": taken}


PROMPTS: list[dict[str, Any]] = [
    _prompt("test_simple_prompt", "A prompt without arguments."),
    _prompt("test_prompt_with_arguments", "A prompt of two arguments.", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "A prompt about a resource.", "resourceUri"),
    _prompt("test_prompt_with_image", "A prompt with a picture."),
    _prompt("test_input_required_result_prompt", "A prompt that asks its user first."),
    _prompt("ask_first", "The same, under a name that stays short with a prefix."),
]


async def prompt(talk: Dialogue, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the messages of a prompt."""
    if name == "test_simple_prompt":
        return _messages(text("This is a simple prompt for testing."))
    if name == "test_prompt_with_arguments":
        words = f"arg1='{given['arg1']}', arg2='{given['arg2']}'"
        return _messages(text(f"Prompt with arguments: {words}"))
    if name == "test_prompt_with_embedded_resource":
        resource = embedded(given["resourceUri"], "Embedded resource content for testing.")
        return _messages(resource, text("Please process the embedded resource above."))
    if name == "test_prompt_with_image":
        return _messages(picture(), text("Please analyze the image above."))
    if name in ("test_input_required_result_prompt", "ask_first"):
        question = form("What context should the prompt use?", context=STRING)
        answer = await talk.ask("user_context", question)
        return _messages(text(f"Use {answer['content']['context']}"))
    raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name!r}")


def _messages(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": block} for block in blocks]}


def complete(value: str) -> dict[str, Any]:
    """Return what an argument could become."""
    values = [word for word in COMPLETIONS if word.startswith(value)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}
