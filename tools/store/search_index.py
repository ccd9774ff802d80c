"""Loads the search index out of the database, and brings it up to date by what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from tools.search_index import Postings, SearchIndex

TOOL_BYTES = 600
"""What a tool takes beside its vector, rounded up: 40 postings of 9 bytes, and its columns."""

BATCH_ROWS = 5_000
"""Rows fetched at once: what is copied twice stays small."""

HEADER_BYTES = 19  # of PostgreSQL's binary COPY: signature, flags, length of extension
TRAILER_BYTES = 2

_TOOLS = """
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
_VECTORS = """
COPY (SELECT id, vector FROM tools_toolembedding WHERE id = ANY(%(ids)s))
TO STDOUT (FORMAT BINARY)
"""
_POSTINGS = """
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


def refresh(previous: SearchIndex | None, *, model: str, max_bytes: int) -> SearchIndex | None:
    """Return the index as the database has it now.

    What `previous` holds of tools that have not changed is taken over; only the rest is read.

    Args:
        previous: The index in force, if any.
        model: The model whose vectors are wanted.
        max_bytes: Memory it may take at most, about.

    Returns:
        None if the catalogue does not fit the memory.
    """
    dimensions = _dimensions(model)
    rows = _read(_TOOLS, _columns(), {"model": model, "dimensions": dimensions})
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
        vectors=_vectors(previous, embeddings, dimensions),
        postings=_postings(previous, tools, texts),
        server_names=_names("tools_server"),
        category_names=_names("tools_category"),
    )


def _dimensions(model: str) -> int:
    """Return the length of a model's vectors, 0 while there are none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT dimensions FROM tools_toolembedding WHERE model = %s LIMIT 1", [model]
        )
        row = cursor.fetchone()
        return int(row[0]) if row else 0


def _vectors(
    previous: SearchIndex | None, embeddings: NDArray[np.int64], dimensions: int
) -> NDArray[np.float32]:
    """Take over the vectors that are known, and read the others."""
    if previous is not None and np.array_equal(previous.embeddings, embeddings):
        return previous.vectors
    vectors = np.zeros((len(embeddings), dimensions), dtype=np.float32)
    wanted = embeddings != 0
    if previous is not None and len(previous.embeddings):
        order = np.argsort(previous.embeddings)
        at = _positions(previous.embeddings[order], embeddings)
        known = wanted & (at >= 0)
        vectors[known] = previous.vectors[order[at[known]]]
        wanted &= ~known
    missing = np.flatnonzero(wanted)
    missing = missing[np.argsort(embeddings[missing])]
    form = _record(id=">i8", vector=[("form", ">i4"), ("values", ">f4", (dimensions,))])
    for start in range(0, len(missing), BATCH_ROWS):
        rows = missing[start : start + BATCH_ROWS]
        read = _read(_VECTORS, form, {"ids": embeddings[rows].tolist()})
        at = _positions(embeddings[rows], read["id"])
        vectors[rows[at]] = read["vector"]["values"]
    return vectors


def _postings(
    previous: SearchIndex | None, tools: NDArray[np.int64], texts: NDArray[np.int64]
) -> Postings:
    """Take over the postings of unchanged tools, and read those of the others."""
    if (
        previous is not None
        and np.array_equal(previous.tools, tools)
        and np.array_equal(previous.texts, texts)
    ):
        return previous.postings
    parts, changed = _unchanged(previous, tools, texts)
    form = _record(tool=">i8", key=">i8", frequency=">f4", in_name="?")
    missing = tools[changed & (texts != 0)]
    for start in range(0, len(missing), BATCH_ROWS):
        read = _read(_POSTINGS, form, {"ids": missing[start : start + BATCH_ROWS].tolist()})
        positions = np.searchsorted(tools, read["tool"])
        parts.append((read["key"], positions, read["frequency"], read["in_name"]))
    if not parts:
        return _NO_POSTINGS
    keys = np.concatenate([part[0] for part in parts]).astype(np.int64)
    at = np.concatenate([part[1] for part in parts])
    order = np.lexsort((at, keys))
    keys = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return Postings(
        keys=keys[firsts],
        starts=np.append(firsts, len(keys)),
        tools=at[order].astype(np.int32),
        frequencies=np.concatenate([part[2] for part in parts]).astype(np.float32)[order],
        in_name=np.concatenate([part[3] for part in parts])[order],
    )


def _unchanged(
    previous: SearchIndex | None, tools: NDArray[np.int64], texts: NDArray[np.int64]
) -> tuple[list[tuple[Any, Any, Any, Any]], NDArray[np.bool_]]:
    """Return the postings that can be taken over, and which tools they leave to be read."""
    changed = np.ones(len(tools), dtype=np.bool_)
    if previous is None or not len(tools):
        return [], changed
    at = _positions(tools, previous.tools)
    kept = at >= 0
    kept[kept] = texts[at[kept]] == previous.texts[kept]
    changed[at[kept]] = False
    old = previous.postings
    rows = kept[old.tools]
    keys = np.repeat(old.keys, np.diff(old.starts))
    taken = (keys[rows], at[old.tools[rows]], old.frequencies[rows], old.in_name[rows])
    return [taken], changed


def _positions(ascending: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp]:
    """Return where values stand in an ascending array, -1 for those it lacks."""
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[at] == wanted, at, -1)


def _names(table: str) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name, id FROM {table}")
        return dict(cursor.fetchall())


def _columns() -> np.dtype[Any]:
    return _record(**{name: ">f8" if name == "length" else ">i8" for name in _COLUMNS})


def _record(**fields: Any) -> np.dtype[Any]:
    """Describe a row of binary COPY: each value follows its length."""
    form: list[Any] = [("count", ">i2")]
    for name, kind in fields.items():
        form += [(f"{name}_bytes", ">i4"), (name, kind)]
    return np.dtype(form)


def _read(statement: str, form: np.dtype[Any], values: dict[str, Any]) -> NDArray[Any]:
    """Run a binary COPY whose rows are all of one length, without making Python values."""
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,  # which Django leaves out for COPY
        cursor.copy(statement, values) as copy,
    ):
        data = b"".join(_chunks(copy))
    return np.frombuffer(data, dtype=form, offset=HEADER_BYTES, count=_count(data, form))


def _chunks(copy: Any) -> Sequence[bytes]:
    return [bytes(chunk) for chunk in copy]


def _count(data: bytes, form: np.dtype[Any]) -> int:
    return (len(data) - HEADER_BYTES - TRAILER_BYTES) // form.itemsize
