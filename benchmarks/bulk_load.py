"""Loads many tools into an empty catalogue at once, for evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from tools import embedding_text
from tools.definition import Definition
from tools.models import Category, Server, Tool, ToolDefinition

BATCH_ROWS = 500
MAX_CATEGORY_CHARS = 100


@dataclass(frozen=True, kw_only=True)
class DefinedTool:
    """A tool to load.

    Attributes:
        server: Valid name of its server.
        definition: Its definition; names are unique within a server.
        category: May be empty.
    """

    server: str
    definition: Definition
    category: str = ""


def load_tools(tools: Sequence[DefinedTool], *, at: datetime) -> None:
    """Store tools as active tools of new shared servers, which cannot be started.

    Args:
        tools: The tools; their servers must not exist yet.
        at: Time of their listing.
    """
    with transaction.atomic():
        servers = _create_servers({tool.server for tool in tools})
        categories = _create_categories(
            {tool.category[:MAX_CATEGORY_CHARS] for tool in tools} - {""}
        )
        rows = Tool.objects.bulk_create(
            Tool(
                server=servers[tool.server],
                name=tool.definition.name,
                state=Tool.State.PENDING,
                category=categories.get(tool.category[:MAX_CATEGORY_CHARS]),
                first_seen_at=at,
                last_seen_at=at,
            )
            for tool in tools
        )
        definitions = ToolDefinition.objects.bulk_create(
            _make_definition_row(row, tool.definition, at)
            for row, tool in zip(rows, tools, strict=True)
        )
        for row, definition in zip(rows, definitions, strict=True):
            row.definition, row.state = definition, Tool.State.ACTIVE
        Tool.objects.bulk_update(rows, ["definition", "state"], batch_size=BATCH_ROWS)


def _create_servers(names: set[str]) -> dict[str, Server]:
    rows = Server.objects.bulk_create(Server(name=name, command="none") for name in sorted(names))
    return {row.name: row for row in rows}


def _create_categories(names: set[str]) -> dict[str, Category]:
    rows = (Category(name=name) for name in sorted(names))
    Category.objects.bulk_create(rows, ignore_conflicts=True)
    return {row.name: row for row in Category.objects.filter(name__in=names)}


def _make_definition_row(row: Tool, definition: Definition, at: datetime) -> ToolDefinition:
    return ToolDefinition(
        tool=row,
        hash=definition.hash,
        launch_hash="",
        text_hash=embedding_text.compose_text(definition, server=row.server.name).digest,
        title=definition.title,
        description=definition.description,
        input_schema=dict(definition.input_schema),
        token_count=0,
        listed_at=at,
    )
