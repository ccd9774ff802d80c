"""The inverted index of lexical search, updated for changed tools in batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, Final

from django.db import connection, transaction

from tools import embedding_text, lexemes
from tools.definition import Definition
from tools.glossary import list_languages
from tools.models import Tool, ToolDefinition

INDEX_VERSION = 5
"""Part of every content hash: raise it when fields, weights, words or composed texts change."""

SHIPPED_FILES: Final = (
    "example_wishes.txt", *(f"glossaries/{language}.txt" for language in list_languages())
)  # fmt: skip
"""Files that texts of tools are composed with; their hash is part of every content hash too."""

BATCH_ROWS = 500

_STALE_SQL = """
SELECT t.id
FROM tools_tool t
JOIN tools_tooldefinition d ON d.id = t.definition_id
JOIN tools_server s ON s.id = t.server_id
LEFT JOIN tools_tooltext x ON x.tool_id = t.id
WHERE t.state <> 'removed'
  AND x.content_hash IS DISTINCT FROM md5(%(version)s || ':' || d.text_hash || ':' || s.name)
ORDER BY t.id
"""

_INDEX_SQL = """
WITH desired AS MATERIALIZED (
    SELECT * FROM unnest(%(tools)s::bigint[], %(lexemes)s::text[], %(frequencies)s::float8[],
                         %(in_name)s::boolean[]) AS word (tool_id, lexeme, frequency, in_name)
), dropped AS (
    DELETE FROM tools_toolposting p
    WHERE p.tool_id = ANY(%(all_tools)s)
      AND NOT EXISTS (
          SELECT FROM desired d WHERE d.tool_id = p.tool_id AND d.lexeme = p.lexeme)
), written AS (
    INSERT INTO tools_toolposting AS p (tool_id, lexeme, frequency, in_name)
    SELECT tool_id, lexeme, frequency, in_name FROM desired ORDER BY lexeme, tool_id
    ON CONFLICT (lexeme, tool_id) DO UPDATE
    SET frequency = excluded.frequency, in_name = excluded.in_name
    WHERE (p.frequency, p.in_name) IS DISTINCT FROM (excluded.frequency, excluded.in_name)
)
INSERT INTO tools_tooltext AS x (tool_id, content_hash, length)
SELECT t.id, md5(%(version)s || ':' || d.text_hash || ':' || s.name),
       coalesce((SELECT sum(frequency) FROM desired w WHERE w.tool_id = t.id), 0)
FROM tools_tool t
JOIN tools_tooldefinition d ON d.id = t.definition_id
JOIN tools_server s ON s.id = t.server_id
WHERE t.id = ANY(%(all_tools)s)
ON CONFLICT (tool_id) DO UPDATE
SET content_hash = excluded.content_hash, length = excluded.length
"""


def find_stale_tools() -> list[int]:
    """Return the tools whose current words are not indexed, by primary key."""
    with connection.cursor() as cursor:
        cursor.execute(_STALE_SQL, {"version": _index_version()})
        return [row[0] for row in cursor.fetchall()]


def index_tools(tool_pks: Iterable[int]) -> int:
    """Update the postings of tools; only differing rows are written.

    Deleted tools and those without a pinned definition are skipped. Hashes of composed texts are
    corrected, so that tools whose texts another version composed differently are embedded again.

    Returns:
        Number of tools indexed.
    """
    pks = sorted(set(tool_pks))
    done = 0
    for start in range(0, len(pks), BATCH_ROWS):
        done += _index_batch(pks[start : start + BATCH_ROWS])
    if done:
        # Autovacuum runs minutes later; until then the planner assumes an empty table and uses
        # a nested loop (measured at 5,000 tools: 130 ms instead of 3).
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE tools_server, tools_tool, tools_toolposting, tools_tooltext")
    return done


def _index_batch(pks: list[int]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        # Locked in a fixed order, so that processes indexing the same tools do not deadlock.
        tools = list(
            Tool.objects.select_for_update(of=("self",), no_key=True)
            .filter(pk__in=pks, definition__isnull=False)
            .select_related("definition", "server")
            .order_by("pk")
        )
        if tools:
            _correct_text_hashes(tools)
            cursor.execute(_INDEX_SQL, _index_parameters(tools))
        return len(tools)


def _correct_text_hashes(tools: list[Tool]) -> None:
    changed = []
    for tool in tools:
        pinned = tool.definition
        text = embedding_text.compose_text(_make_definition(tool), server=tool.server.name)
        if pinned is not None and pinned.text_hash != text.digest:
            pinned.text_hash = text.digest
            changed.append(pinned)
    ToolDefinition.objects.bulk_update(changed, ["text_hash"])


def _index_parameters(tools: list[Tool]) -> dict[str, Any]:
    rows = [
        (tool.pk, lexeme, frequency, in_name)
        for tool in tools
        for lexeme, (frequency, in_name) in _count_lexemes(tool).items()
    ]
    columns = ("tools", "lexemes", "frequencies", "in_name")
    return {
        **{name: [row[at] for row in rows] for at, name in enumerate(columns)},
        "all_tools": [tool.pk for tool in tools],
        "version": _index_version(),
    }


def _count_lexemes(tool: Tool) -> dict[str, tuple[float, bool]]:
    fields = embedding_text.list_weighted_texts(_make_definition(tool), server=tool.server.name)
    return lexemes.count_lexemes(fields)


def _make_definition(tool: Tool) -> Definition:
    pinned = tool.definition
    assert pinned is not None  # noqa: S101 - filtered in the query
    return Definition(
        name=tool.name,
        title=pinned.title,
        description=pinned.description,
        input_schema=pinned.input_schema,
    )


def _index_version() -> str:
    return f"{INDEX_VERSION}-{lexemes.STEMMER_VERSION}-{_hash_shipped_files()}"


@cache
def _hash_shipped_files() -> str:
    folder = resources.files("tools")
    contents = b"".join(folder.joinpath(*name.split("/")).read_bytes() for name in SHIPPED_FILES)
    return hashlib.sha256(contents).hexdigest()
