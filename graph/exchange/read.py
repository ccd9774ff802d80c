"""Read a file of relations in any supported format."""

from __future__ import annotations

import codecs
from enum import StrEnum
from pathlib import PurePath
from typing import Final

from graph.exchange import graphml_reader, json_form, json_lines
from graph.exchange.document import ImportProblem, ParsedDocument

MAX_BYTES: Final = 64_000_000
"""Size limit of a file; reading takes some ten times as much memory."""
MAX_GUESS_BYTES: Final = 100_000
"""Bytes read to guess the format."""
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class GraphFormat(StrEnum):
    """File format of a graph."""

    JSON = "json"
    JSON_LINES = "jsonl"
    GRAPHML = "graphml"


FORMAT_BY_SUFFIX: Final = {
    ".json": GraphFormat.JSON,
    ".jsonl": GraphFormat.JSON_LINES,
    ".ndjson": GraphFormat.JSON_LINES,
    ".graphml": GraphFormat.GRAPHML,
    ".xml": GraphFormat.GRAPHML,
}


def format_from_name(name: str) -> GraphFormat | None:
    """Return the format by the suffix of a file's name, if known.

    Example:
        >>> format_from_name("graph.GraphML"), format_from_name("-")
        (<GraphFormat.GRAPHML: 'graphml'>, None)
    """
    return FORMAT_BY_SUFFIX.get(PurePath(name).suffix.lower())


def guess_format(data: bytes) -> GraphFormat:
    """Guess the format of a file by its content."""
    start = data[:MAX_GUESS_BYTES].lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n").replace(b"\x00", b"")
    if start.startswith(b"<"):
        return GraphFormat.GRAPHML
    try:
        row = json_lines.parse_object(start.partition(b"\n")[0].decode())
    except ValueError:
        return GraphFormat.JSON
    return GraphFormat.JSON if "relations" in row else GraphFormat.JSON_LINES


def read_file(data: bytes, *, name: str = "", form: GraphFormat | None = None) -> ParsedDocument:
    """Read a file of relations.

    Args:
        data: Content of the file, at most `MAX_BYTES`.
        name: Its name; the suffix may determine the format.
        form: Its format; None: by name, or else by content.
    """
    if len(data) > MAX_BYTES:
        message = f"the file has more than {MAX_BYTES:,} bytes; split it"
        return ParsedDocument(relations=(), problems=(ImportProblem(0, message),), problem_count=1)
    form = form or format_from_name(name) or guess_format(data)
    if form is GraphFormat.GRAPHML:
        return graphml_reader.read_graphml(data)
    try:
        text = _decode_text(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 text (byte {error.start + 1}); save the file as UTF-8"
        return ParsedDocument(
            relations=(), problems=(ImportProblem(line, message),), problem_count=1
        )
    if not text.strip():
        return ParsedDocument(
            relations=(), problems=(ImportProblem(1, "the file is empty"),), problem_count=1
        )
    return (
        json_lines.read_lines(text)
        if form is GraphFormat.JSON_LINES
        else json_form.read_json(text)
    )


def _decode_text(data: bytes) -> str:
    """Decode a text by its byte order mark; without one it is UTF-8."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    return data.decode(encoding)
