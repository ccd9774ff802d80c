"""Load a data set from disk: tools, and queries with their gold tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph.exchange import read
from graph.exchange.document import StatedRelation

TOOLS_FILE = "tools.jsonl"
QUERIES_FILE = "queries.jsonl"
GRAPH_FILE = "graph.jsonl"
PAIR_LENGTH = 2
COLON_SUBSTITUTE = "∶"  # noqa: RUF001 - RATIO: looks like a colon, which server names may not contain


class DatasetError(Exception):
    """A file is missing or malformed; the message names file, line and what is expected."""


@dataclass(frozen=True, kw_only=True)
class DatasetTool:
    """A tool of a data set.

    Attributes:
        id: Its id in the data set; any characters.
        server: Name of its server, made valid for Foregate.
        name: Name at the server, made unique.
        title: May be empty.
        description: May be empty.
        input_schema: As published.
        category: May be empty.
    """

    id: str
    server: str
    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    category: str


@dataclass(frozen=True, kw_only=True)
class DatasetQuery:
    """A query and its gold.

    Attributes:
        id: Its id.
        text: The intent.
        slots: For each need, the ids of all tools that fulfil it; distinct slots.
        group: Paraphrases share a group.
        tools: The gold tools in order; a tool may recur.
        edges: Pairs of ids, the first tool before the second; None if unknown.
        arguments: Calls with their arguments, in the data set's format; None if there are none.
    """

    id: str
    text: str
    slots: tuple[frozenset[str], ...]
    group: str
    tools: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] | None = None
    arguments: Any = None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Tools, queries, past runs, and relations between tools by their ids."""

    name: str
    tools: tuple[DatasetTool, ...]
    queries: tuple[DatasetQuery, ...]
    history: tuple[DatasetQuery, ...]
    relations: tuple[StatedRelation, ...] = ()


def load_dataset(
    folder: Path,
    *,
    queries: Path | None = None,
    history: Path | None = None,
    limit: int | None = None,
) -> Dataset:
    """Load and validate a data set.

    Args:
        folder: Contains `tools.jsonl`, `queries.jsonl` and optionally `graph.jsonl`.
        queries: File of queries to use instead.
        history: File of past runs in the format of queries; may be empty.
        limit: Number of queries to use, from the beginning.

    Raises:
        DatasetError: If a file is missing or a line is malformed.
    """
    if not folder.is_dir():
        raise DatasetError(
            f"{folder} is not a folder: name one that contains {TOOLS_FILE} and {QUERIES_FILE}"
        )
    tools = load_tools(folder / TOOLS_FILE)
    known_ids = {tool.id for tool in tools}
    loaded = _load_queries(queries or folder / QUERIES_FILE, known_ids)
    if not loaded:
        raise DatasetError(f"{queries or folder / QUERIES_FILE} holds no query")
    return Dataset(
        name=folder.resolve().name,
        tools=tools,
        queries=loaded[:limit],
        history=_load_queries(history, known_ids) if history else (),
        relations=_load_relations(folder / GRAPH_FILE, known_ids),
    )


def load_tools(path: Path) -> tuple[DatasetTool, ...]:
    """Load the tools of a data set.

    Raises:
        DatasetError: If the file is missing, holds no tool, or a line is malformed.
    """
    tools: dict[str, DatasetTool] = {}
    taken: set[tuple[str, str]] = set()
    for location, row in iterate_rows(path):
        identity = read_text(row, "id", location, required=True)
        if identity in tools:
            raise DatasetError(f"{location}: the id {identity!r} is given twice")
        server = make_server_name(read_text(row, "server", location) or "server")
        name = read_text(row, "name", location, required=True)
        while (server, name) in taken:
            name += "_"
        taken.add((server, name))
        schema = row.get("input_schema") or {}
        if not isinstance(schema, Mapping):
            raise DatasetError(f"{location}: input_schema must be an object")
        tools[identity] = DatasetTool(
            id=identity,
            server=server,
            name=name,
            title=read_text(row, "title", location),
            description=read_text(row, "description", location),
            input_schema=schema,
            category=read_text(row, "category", location),
        )
    if not tools:
        raise DatasetError(f"{path} holds no tool")
    return tuple(tools.values())


def make_server_name(raw: str) -> str:
    r"""Turn any text into a valid server name: no colon, control character or outer space.

    Example:
        >>> make_server_name(" a:b\n") == "a" + COLON_SUBSTITUTE + "b"
        True
    """
    printable = "".join(c for c in raw.replace(":", COLON_SUBSTITUTE) if c.isprintable()).strip()
    return printable[:100].strip() or "server"


def _load_queries(path: Path, known_ids: set[str]) -> tuple[DatasetQuery, ...]:
    queries = []
    for location, row in iterate_rows(path):
        gold = _parse_names(row.get("gold_tools"), f"{location}: gold_tools")
        raw = row.get("gold_alternatives") or [[name] for name in gold]
        if not isinstance(raw, list):
            raise DatasetError(f"{location}: gold_alternatives must be a list of lists of ids")
        slots = [frozenset(_parse_names(slot, f"{location}: gold_alternatives")) for slot in raw]
        unknown = sorted(frozenset().union(*slots) - known_ids)
        if unknown:
            raise DatasetError(f"{location}: no tool has the id {unknown[0]!r}")
        identity = read_text(row, "id", location, required=True)
        queries.append(
            DatasetQuery(
                id=identity,
                text=read_text(row, "text", location, required=True),
                slots=tuple(dict.fromkeys(slot for slot in slots if slot)),
                group=str(row.get("group") or identity),
                tools=tuple(gold),
                edges=_parse_edges(row.get("gold_edges"), f"{location}: gold_edges"),
                arguments=row.get("gold_args"),
            )
        )
    return tuple(queries)


def _load_relations(path: Path, known_ids: set[str]) -> tuple[StatedRelation, ...]:
    if not path.exists():
        return ()
    document = read.read_file(_read_content(path), name=path.name)
    for line, message in document.problems:
        raise DatasetError(f"{path}, line {line}: {message}" if line else f"{path}: {message}")
    for relation in document.relations:
        for end in (relation.source, relation.target):
            if end not in known_ids:
                raise DatasetError(f"{path}, line {relation.line}: no tool has the id {end!r}")
    return document.relations


def _read_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from None


def iterate_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the location and the object of each line.

    Raises:
        DatasetError: If the file cannot be read, or a line is no JSON object.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    location = f"{path}, line {number}"
                    yield location, _parse_object(line, location)
    except FileNotFoundError:
        raise DatasetError(f"{path} is missing") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DatasetError(f"{path} is not UTF-8 text") from None


def _parse_object(line: str, location: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at")
        raise DatasetError(f"{location}: not JSON ({problem} at column {error.colno})") from None
    if not isinstance(row, dict):
        raise DatasetError(f"{location}: must be a JSON object")
    return row


def read_text(row: Mapping[str, Any], key: str, location: str, *, required: bool = False) -> str:
    """Return a text of a row; empty if it is missing.

    Raises:
        DatasetError: If it is no text, or required and missing.
    """
    value = row.get(key)
    if value is None and not required:
        return ""
    if isinstance(value, str | int) and str(value).strip():
        return str(value)
    if required or not isinstance(value, str):
        raise DatasetError(f"{location}: {key} must be a text that is not empty")
    return value


def _parse_edges(value: Any, location: str) -> tuple[tuple[str, str], ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise DatasetError(f"{location} must be a list of pairs of ids")
    pairs = [_parse_names(pair, location) for pair in value]
    if any(len(pair) != PAIR_LENGTH for pair in pairs):
        raise DatasetError(f"{location} must be a list of pairs of ids")
    return tuple((pair[0], pair[1]) for pair in pairs)


def _parse_names(value: Any, location: str) -> Sequence[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(f"{location} must be a list of ids")
    return value
