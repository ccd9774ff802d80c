"""Loads the search index from the database and updates it incrementally."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from tools.search_index import Postings, SearchIndex

TOOL_BYTES = 600
"""Bytes per tool besides its vector, rounded up: 40 postings of 9 bytes, and its columns."""

BATCH_ROWS = 5_000
"""Rows per batch; bounds the memory that is held twice while copying."""

HEADER_BYTES = 19  # of PostgreSQL's binary COPY: signature, flags, length of extension
TRAILER_BYTES = 2

_TOOLS_SQL = """
COPY (
    SELECT DISTINCT ON (t.id) t.id, t.server_id, coalesce(t.category_id, 0),
           coalesce(s.team_id, 0), coalesce(hashtextextended(x.content_hash, 0), 0),
           coalesce(x.length, 0)::float8, coalesce(e.id, 0)
    FROM tools_tool t
    JOIN tools_server s ON s.id = t.server_id AND s.enabled
    LEFT JOIN tools_tooldefinition d ON d.id = t.definition_id
    LEFT JOIN tools_tooltext x ON x.tool_id = t.id
    LEFT JOIN tools_toolembedding e
           ON e.tool_id = t.id AND e.model = %(model)s AND e.dimensions = %(dimensions)s
    WHERE t.state = 'active' AND t.enabled
    ORDER BY t.id, (e.content_hash = d.text_hash) DESC NULLS LAST, e.id DESC
) TO STDOUT (FORMAT BINARY)
"""
_VECTORS_SQL = """
COPY (SELECT id, vector FROM tools_toolembedding WHERE id = ANY(%(ids)s))
TO STDOUT (FORMAT BINARY)
"""
_POSTINGS_SQL = """
COPY (SELECT tool_id, hashtextextended(lexeme, 0), frequency::float4, in_name
      FROM tools_toolposting WHERE tool_id = ANY(%(ids)s))
TO STDOUT (FORMAT BINARY)
"""

_COLUMNS = ("tool", "server", "category", "team", "text", "length", "embedding")
_NO_POSTINGS = Postings(
    keys=np.empty(0, dtype=np.int64),
    starts=np.zeros(1, dtype=np.int64),
    tools=np.empty(0, dtype=np.int32),
    frequencies=np.empty(0, dtype=np.float32),
    in_name=np.empty(0, dtype=np.bool_),
)


def refresh_index(
    previous: SearchIndex | None, *, model: str, max_bytes: int
) -> SearchIndex | None:
    """Return an index of the database's current state.

    Data of unchanged tools is taken from `previous`; only the rest is read.

    Args:
        previous: The current index, if any.
        model: The model of the vectors.
        max_bytes: Approximate memory limit.

    Returns:
        None if the catalogue exceeds `max_bytes`.
    """
    dimensions = _load_dimensions(model)
    rows = _copy_rows(_TOOLS_SQL, _tool_row_type(), {"model": model, "dimensions": dimensions})
    if len(rows) * (4 * dimensions + TOOL_BYTES) > max_bytes:
        return None
    if previous is not None and (previous.model, previous.vectors.shape[1]) != (model, dimensions):
        previous = None
    tools = rows["tool"].astype(np.int64)
    embeddings = rows["embedding"].astype(np.int64)
    texts = rows["text"].astype(np.int64)
    return SearchIndex(
        model=model,
        tools=tools,
        servers=rows["server"].astype(np.int64),
        categories=rows["category"].astype(np.int64),
        teams=rows["team"].astype(np.int64),
        texts=texts,
        lengths=rows["length"].astype(np.float64),
        embeddings=embeddings,
        vectors=_load_vectors(previous, embeddings, dimensions),
        postings=_load_postings(previous, tools, texts),
        server_names=_load_names("tools_server"),
        category_names=_load_names("tools_category"),
    )


def _load_dimensions(model: str) -> int:
    """Return the dimensions of a model's vectors, 0 if there are none yet."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT dimensions FROM tools_toolembedding WHERE model = %s LIMIT 1", [model]
        )
        row = cursor.fetchone()
        return int(row[0]) if row else 0


def _load_vectors(
    previous: SearchIndex | None, embeddings: NDArray[np.int64], dimensions: int
) -> NDArray[np.float32]:
    """Take over the vectors of the previous index and read the missing ones."""
    if previous is not None and np.array_equal(previous.embeddings, embeddings):
        return previous.vectors
    vectors = np.zeros((len(embeddings), dimensions), dtype=np.float32)
    wanted = embeddings != 0
    if previous is not None and len(previous.embeddings):
        order = np.argsort(previous.embeddings)
        at = _find_positions(previous.embeddings[order], embeddings)
        known = wanted & (at >= 0)
        vectors[known] = previous.vectors[order[at[known]]]
        wanted &= ~known
    missing = np.flatnonzero(wanted)
    missing = missing[np.argsort(embeddings[missing])]
    row_type = _copy_row_type(
        id=">i8", vector=[("row_type", ">i4"), ("values", ">f4", (dimensions,))]
    )
    for start in range(0, len(missing), BATCH_ROWS):
        rows = missing[start : start + BATCH_ROWS]
        read = _copy_rows(_VECTORS_SQL, row_type, {"ids": embeddings[rows].tolist()})
        at = _find_positions(embeddings[rows], read["id"])
        vectors[rows[at]] = read["vector"]["values"]
    return vectors


def _load_postings(
    previous: SearchIndex | None, tools: NDArray[np.int64], texts: NDArray[np.int64]
) -> Postings:
    """Take over the postings of unchanged tools and read those of the others."""
    if (
        previous is not None
        and np.array_equal(previous.tools, tools)
        and np.array_equal(previous.texts, texts)
    ):
        return previous.postings
    parts, changed = _split_unchanged(previous, tools, texts)
    row_type = _copy_row_type(tool=">i8", key=">i8", frequency=">f4", in_name="?")
    missing = tools[changed & (texts != 0)]
    for start in range(0, len(missing), BATCH_ROWS):
        read = _copy_rows(
            _POSTINGS_SQL, row_type, {"ids": missing[start : start + BATCH_ROWS].tolist()}
        )
        positions = np.searchsorted(tools, read["tool"])
        parts.append((read["key"], positions, read["frequency"], read["in_name"]))
    if not parts:
        return _NO_POSTINGS
    keys, at, frequencies, in_name = (
        np.concatenate([part[column] for part in parts]) for column in range(4)
    )
    return Postings.from_rows(keys.astype(np.int64), at, frequencies.astype(np.float32), in_name)


def _split_unchanged(
    previous: SearchIndex | None, tools: NDArray[np.int64], texts: NDArray[np.int64]
) -> tuple[list[tuple[Any, Any, Any, Any]], NDArray[np.bool_]]:
    """Return the postings that can be taken over, and a mask of the tools still to be read."""
    changed = np.ones(len(tools), dtype=np.bool_)
    if previous is None or not len(tools):
        return [], changed
    at = _find_positions(tools, previous.tools)
    unchanged = at >= 0
    unchanged[unchanged] = texts[at[unchanged]] == previous.texts[unchanged]
    changed[at[unchanged]] = False
    old = previous.postings
    rows = unchanged[old.tools]
    keys = np.repeat(old.keys, np.diff(old.starts))
    reused = (keys[rows], at[old.tools[rows]], old.frequencies[rows], old.in_name[rows])
    return [reused], changed


def _find_positions(ascending: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of values in an ascending array, -1 for missing ones."""
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[at] == wanted, at, -1)


def _load_names(table: str) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name, id FROM {table}")
        return dict(cursor.fetchall())


def _tool_row_type() -> np.dtype[Any]:
    return _copy_row_type(**{name: ">f8" if name == "length" else ">i8" for name in _COLUMNS})


def _copy_row_type(**fields: Any) -> np.dtype[Any]:
    """Return the dtype of a binary COPY row, in which each value follows its length."""
    row_type: list[Any] = [("count", ">i2")]
    for name, kind in fields.items():
        row_type += [(f"{name}_bytes", ">i4"), (name, kind)]
    return np.dtype(row_type)


def _copy_rows(statement: str, row_type: np.dtype[Any], values: dict[str, Any]) -> NDArray[Any]:
    """Run a binary COPY of fixed-length rows, without creating Python values."""
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,  # which Django leaves out for COPY
        cursor.copy(statement, values) as copy,
    ):
        data = b"".join(_iterate_chunks(copy))
    return np.frombuffer(
        data, dtype=row_type, offset=HEADER_BYTES, count=_count_rows(data, row_type)
    )


def _iterate_chunks(copy: Any) -> Sequence[bytes]:
    return [bytes(chunk) for chunk in copy]


def _count_rows(data: bytes, row_type: np.dtype[Any]) -> int:
    return (len(data) - HEADER_BYTES - TRAILER_BYTES) // row_type.itemsize
