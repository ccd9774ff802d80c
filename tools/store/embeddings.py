"""Stored vectors of tools: missing ones, bulk writes, and one HNSW index per model."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from pgvector import Vector
from psycopg import sql

from tools.definition import Definition
from tools.embed.embedder import Vectors
from tools.models import Tool, ToolEmbedding

HNSW_M = 16
EF_CONSTRUCTION = 64
MAX_INDEXED_DIMENSIONS = 2_000
"""pgvector's limit for an HNSW index on `vector`; longer vectors are searched exactly."""

BULK_SHARE = 0.2
"""Share of new rows from which rebuilding a model's index beats inserting into it (measured)."""

BULK_ROWS = 500
"""Fewer rows than this are always inserted into the index."""

_TABLE = ToolEmbedding._meta.db_table


@dataclass(frozen=True, kw_only=True)
class MissingEmbedding:
    """A tool whose text has no vector by a model yet.

    Attributes:
        tool_pk: Primary key of the tool.
        content_hash: Hash of the text.
        definition: The definition that the text is composed from.
        server: Name of the tool's server.
    """

    tool_pk: int
    content_hash: str
    definition: Definition
    server: str


@dataclass(frozen=True, kw_only=True)
class EmbeddingCoverage:
    """How many tools a model has embedded.

    Attributes:
        embedded: Tools with a vector of their current text.
        total: Tools that need one.
    """

    embedded: int
    total: int


def _embeddable_tools() -> QuerySet[Tool]:
    """Return the tools with a pinned definition that their server still lists."""
    return Tool.objects.filter(~Q(state=Tool.State.REMOVED), definition__isnull=False)


def _tools_without_vector(model: str) -> QuerySet[Tool]:
    present = ToolEmbedding.objects.filter(
        tool=OuterRef("pk"), model=model, content_hash=OuterRef("definition__text_hash")
    )
    return _embeddable_tools().filter(~Exists(present))


def load_missing(model: str) -> list[MissingEmbedding]:
    """Return the tools without a vector of their current text, by primary key."""
    rows = _tools_without_vector(model).select_related("definition", "server").order_by("pk")
    return [
        MissingEmbedding(
            tool_pk=tool.pk,
            content_hash=tool.definition.text_hash,
            definition=Definition(
                name=tool.name,
                title=tool.definition.title,
                description=tool.definition.description,
                input_schema=tool.definition.input_schema,
            ),
            server=tool.server.name,
        )
        for tool in rows
        if tool.definition is not None
    ]


def load_coverage(model: str, *, servers: Collection[str] | None = None) -> EmbeddingCoverage:
    """Count the tools with a vector of their current text.

    Args:
        model: The model.
        servers: Names of the servers whose tools count; None: all.
    """
    among = Q() if servers is None else Q(server__name__in=servers)
    total = _embeddable_tools().filter(among).count()
    missing = _tools_without_vector(model).filter(among).count()
    return EmbeddingCoverage(embedded=total - missing, total=total)


def load_model_names() -> tuple[str, ...]:
    """Return the models with stored vectors, by name."""
    return tuple(
        ToolEmbedding.objects.order_by("model").values_list("model", flat=True).distinct()
    )


def write_vectors(model: str, batch: Sequence[MissingEmbedding], vectors: Vectors) -> int:
    """Store the vectors of a batch and delete those of older texts of the same tools.

    Tools deleted meanwhile are skipped; rows written by another process are kept.

    Args:
        model: The model that made them.
        batch: The tools.
        vectors: Shape (len(batch), d), float32, norm 1.

    Returns:
        Number of rows written.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE new_embedding"
            " (tool_id bigint, content_hash text, vector vector) ON COMMIT DROP"
        )
        with cursor.copy("COPY new_embedding FROM STDIN") as copy:
            for item, vector in zip(batch, vectors, strict=True):
                copy.write_row((item.tool_pk, item.content_hash, Vector(vector).to_text()))
        cursor.execute(
            f"DELETE FROM {_TABLE} e USING new_embedding n"
            " WHERE e.model = %s AND e.tool_id = n.tool_id AND e.content_hash <> n.content_hash",
            [model],
        )
        cursor.execute(
            f"INSERT INTO {_TABLE}"
            " (tool_id, model, content_hash, dimensions, vector, created_at)"
            " SELECT t.id, %s, n.content_hash, %s, n.vector, now()"
            " FROM new_embedding n JOIN tools_tool t ON t.id = n.tool_id"
            " ORDER BY t.id FOR KEY SHARE OF t"
            " ON CONFLICT (model, tool_id, content_hash) DO NOTHING",
            [model, int(vectors.shape[1])],
        )
        written = int(cursor.rowcount)
        cursor.execute("DROP TABLE new_embedding")
        return written


def drop_stale(model: str) -> int:
    """Delete a model's vectors of outdated texts; return how many."""
    stale = ToolEmbedding.objects.filter(model=model).filter(
        Q(tool__state=Tool.State.REMOVED)
        | Q(tool__definition__isnull=True)
        | ~Q(content_hash=F("tool__definition__text_hash"))
    )
    # A vector of an older text stays in use until the new one exists.
    replaced = stale.filter(
        Q(tool__state=Tool.State.REMOVED)
        | Exists(
            ToolEmbedding.objects.filter(
                tool=OuterRef("tool"),
                model=model,
                content_hash=OuterRef("tool__definition__text_hash"),
            )
        )
    )
    return replaced.delete()[0]


def index_name(model: str) -> str:
    """Return the name of a model's HNSW index: deterministic, and short for any model name."""
    return f"embedding_hnsw_{hashlib.sha256(model.encode()).hexdigest()[:12]}"


def has_index(model: str) -> bool:
    """Whether the model's index exists in the current schema."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [index_name(model)])
        return bool(cursor.fetchone()[0])


def create_index(model: str, dimensions: int) -> bool:
    """Build the model's HNSW index unless it exists; return whether there is one now."""
    if dimensions > MAX_INDEXED_DIMENSIONS:
        return False
    statement = sql.SQL(
        "CREATE INDEX IF NOT EXISTS {name} ON {table}"
        " USING hnsw ((vector::vector({dimensions})) vector_cosine_ops)"
        " WITH (m = {m}, ef_construction = {ef}) WHERE model = {model}"
    ).format(
        name=sql.Identifier(index_name(model)),
        table=sql.Identifier(_TABLE),
        dimensions=sql.Literal(dimensions),
        m=sql.Literal(HNSW_M),
        ef=sql.Literal(EF_CONSTRUCTION),
        model=sql.Literal(model),
    )
    with connection.cursor() as cursor:
        _check_constraints_now(cursor)
        cursor.execute(statement)
        cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(_TABLE)))
    return True


def drop_index(model: str) -> None:
    """Drop the model's index; searches by it become exact until it is built again."""
    statement = sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(index_name(model)))
    with connection.cursor() as cursor:
        _check_constraints_now(cursor)
        cursor.execute(statement)


def _check_constraints_now(cursor: Any) -> None:
    """Run deferred constraint checks now; pending ones would block DDL in a transaction."""
    if connection.in_atomic_block:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def is_bulk(*, new: int, present: int) -> bool:
    """Whether enough new rows are coming to rebuild the index after them.

    Example:
        >>> is_bulk(new=1_000, present=0), is_bulk(new=1_000, present=90_000)
        (True, False)
    """
    return new >= BULK_ROWS and new >= BULK_SHARE * present
