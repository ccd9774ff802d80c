"""Read a file of relations, whichever form it is in."""

from __future__ import annotations

import codecs
from enum import StrEnum
from pathlib import PurePath
from typing import Final

from graph.exchange import graphml_reader, json_form, json_lines
from graph.exchange.document import Problem, Read

MAX_BYTES: Final = 64_000_000
"""Of a file; reading takes some ten times as much memory."""
MAX_GUESSED: Final = 100_000
"""Bytes that are looked at to tell the form."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Form(StrEnum):
    """How a graph is written."""

    JSON = "json"
    JSON_LINES = "jsonl"
    GRAPHML = "graphml"


SUFFIXES: Final = {
    ".json": Form.JSON,
    ".jsonl": Form.JSON_LINES,
    ".ndjson": Form.JSON_LINES,
    ".graphml": Form.GRAPHML,
    ".xml": Form.GRAPHML,
}


def form_of(name: str) -> Form | None:
    """Return the form that a file's name tells, if it does.

    Example:
        >>> form_of("graph.GraphML"), form_of("-")
        (<Form.GRAPHML: 'graphml'>, None)
    """
    return SUFFIXES.get(PurePath(name).suffix.lower())


def guess(data: bytes) -> Form:
    """Return the form that a file looks like."""
    start = data[:MAX_GUESSED].lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n").replace(b"\x00", b"")
    if start.startswith(b"<"):
        return Form.GRAPHML
    try:
        row = json_lines.parse(start.partition(b"\n")[0].decode())
    except ValueError:
        return Form.JSON
    return Form.JSON if "relations" in row else Form.JSON_LINES


def read(data: bytes, *, name: str = "", form: Form | None = None) -> Read:
    """Read a file of relations.

    Args:
        data: Its content, at most `MAX_BYTES`.
        name: Its name, whose suffix tells its form.
        form: How it is written; None: as its name or else its content says.

    Returns:
        Its relations and everything that is wrong with it.
    """
    if len(data) > MAX_BYTES:
        message = f"the file has more than {MAX_BYTES:,} bytes; split it"
        return Read(relations=(), problems=(Problem(0, message),), problem_count=1)
    form = form or form_of(name) or guess(data)
    if form is Form.GRAPHML:
        return graphml_reader.read(data)
    try:
        text = _decoded(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"no text in UTF-8 (byte {error.start + 1}); save the file as UTF-8"
        return Read(relations=(), problems=(Problem(line, message),), problem_count=1)
    if not text.strip():
        return Read(relations=(), problems=(Problem(1, "the file is empty"),), problem_count=1)
    return json_lines.read_lines(text) if form is Form.JSON_LINES else json_form.read(text)


def _decoded(data: bytes) -> str:
    """Decode a text by its byte order mark; without one it is UTF-8."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    return data.decode(encoding)
