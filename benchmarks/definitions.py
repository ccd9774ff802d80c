"""Definitions of any number of tools: those of a public set if available, then generated ones."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.definition import Definition

_VERBS = [
    "create",
    "get",
    "list",
    "update",
    "search",
    "archive",
    "convert",
    "compare",
    "export",
    "import",
    "send",
    "plan",
]
_NOUNS = [
    "invoice",
    "calendar",
    "contact",
    "file",
    "issue",
    "branch",
    "message",
    "ticket",
    "route",
    "weather",
    "flight",
    "hotel",
    "recipe",
    "playlist",
    "photo",
    "payment",
    "customer",
    "order",
    "shipment",
    "report",
    "table",
    "dashboard",
    "sensor",
]
_PLACES = [
    "workspace",
    "team",
    "project",
    "account",
    "region",
    "archive",
    "device",
    "city",
    "store",
    "mailbox",
]


def load_public_tools(name: str) -> list[dict[str, Any]] | None:
    """Return the tools of a public data set; None if FOREGATE_DATA does not contain it."""
    folder = os.environ.get("FOREGATE_DATA")
    path = Path(folder or ".") / name / "tools.jsonl"
    if not (folder and path.exists()):
        return None
    return [json.loads(line) for line in path.read_text().splitlines()]


def definitions(count: int) -> Iterator[Definition]:
    """Yield `count` tools: those of sealtools if available, then combinations of words."""
    found = [
        Definition(
            name=tool["name"], description=tool["description"], input_schema=tool["input_schema"]
        )
        for tool in load_public_tools("sealtools") or []
    ]
    yield from itertools.islice(itertools.chain(found, _combine_words()), count)


def _combine_words() -> Iterator[Definition]:
    for number, (verb, noun, place) in enumerate(
        itertools.cycle(itertools.product(_VERBS, _NOUNS, _PLACES))
    ):
        yield Definition(
            name=f"{verb}_{noun}_{place}_{number}",
            description=f"{verb.capitalize()} a {noun} of a {place}, variant {number}.",
            input_schema={
                "type": "object",
                "properties": {
                    f"{noun}_id": {"type": "string", "description": f"Id of the {noun}."},
                    place: {"type": "string", "description": f"Name of the {place}."},
                },
                "required": [f"{noun}_id"],
            },
        )
