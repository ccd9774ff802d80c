"""Catalogues of a wanted size, made of tools of public servers or of combined words."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.definition import Definition
from tools.store import catalogue, servers

PER_SERVER = 250
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


def setup() -> None:
    """Prepare the database of the benchmark's home."""
    import django

    django.setup()

    from gateway_project.access import callers
    from gateway_project.foundation.postgres import migrate

    migrate.migrate_once()
    callers.ensure_local_admin()


def public_tools(name: str) -> list[dict[str, Any]] | None:
    """Return the tools of a public data set, None if FOREGATE_DATA does not lead to it."""
    folder = os.environ.get("FOREGATE_DATA")
    path = Path(folder or ".") / name / "tools.jsonl"
    if not (folder and path.exists()):
        return None
    return [json.loads(line) for line in path.read_text().splitlines()]


def definitions(count: int) -> Iterator[Definition]:
    """Yield tools: those of sealtools where it is at hand, then combinations of words."""
    found = [
        Definition(
            name=tool["name"], description=tool["description"], input_schema=tool["input_schema"]
        )
        for tool in public_tools("sealtools") or []
    ]
    yield from itertools.islice(itertools.chain(found, _combined()), count)


def _combined() -> Iterator[Definition]:
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


def fill(count: int) -> None:
    """Store, index and embed a catalogue of `count` tools."""
    from django.conf import settings

    from gateway_project.foundation import sealing
    from tools.embed.load import embedder_for
    from tools.embed_catalogue import embed_missing

    sealer = sealing.load_or_create(settings.FOREGATE.home)
    every = list(definitions(count))
    for number, start in enumerate(range(0, count, PER_SERVER)):
        name = f"bench{number}"
        servers.register([servers.Registration(name=name, command="true")], sealer=sealer)
        catalogue.record_listing(
            name, every[start : start + PER_SERVER], at=datetime.now(UTC), approve_new=True
        )
    embed_missing(embedder_for(settings.FOREGATE))
