"""A data set on disk: tools, and queries with the tools that answer them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph.exchange import read
from graph.exchange.document import Stated

TOOLS = "tools.jsonl"
QUERIES = "queries.jsonl"
GRAPH = "graph.jsonl"
PAIR = 2
COLON = "∶"  # noqa: RUF001 - RATIO: looks like a colon, which no server's name may hold


class DatasetError(Exception):
    """A file that is missing or wrong; the message names it, the line, and what is expected."""


@dataclass(frozen=True, kw_only=True)
class DatasetTool:
    """A tool of a data set.

    Attributes:
        id: Its id there, which may hold any character.
        server: Name of its server, made usable as one of ours.
        name: Name at the server, made unique there.
        title: May be empty.
        description: May be empty.
        input_schema: As given.
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
        text: What is asked.
        slots: For each thing needed, the ids of all tools that do it; distinct slots.
        group: Queries of one group are paraphrases.
        tools: The gold tools in the order given; one may recur.
        edges: Which tool comes before which, as ids in pairs; None where nobody noted it.
        arguments: Calls with their arguments, in the set's own shape; None where there are none.
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
    relations: tuple[Stated, ...] = ()


def load(
    folder: Path,
    *,
    queries: Path | None = None,
    history: Path | None = None,
    limit: int | None = None,
) -> Dataset:
    """Read and check a data set.

    Args:
        folder: Holds `tools.jsonl`, `queries.jsonl` and maybe `graph.jsonl`.
        queries: Another file of queries.
        history: File of past runs in the shape of queries; may be empty.
        limit: Queries to take from the beginning.

    Raises:
        DatasetError: If a file is missing or a line is wrong.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder} is no folder: give one that holds {TOOLS} and {QUERIES}")
    tools = _load_tools(folder / TOOLS)
    known = {tool.id for tool in tools}
    asked = _load_queries(queries or folder / QUERIES, known)
    if not asked:
        raise DatasetError(f"{queries or folder / QUERIES} holds no query")
    return Dataset(
        name=folder.resolve().name,
        tools=tools,
        queries=asked[:limit],
        history=_load_queries(history, known) if history else (),
        relations=_load_relations(folder / GRAPH, known),
    )


def _load_tools(path: Path) -> tuple[DatasetTool, ...]:
    tools: dict[str, DatasetTool] = {}
    taken: set[tuple[str, str]] = set()
    for place, row in _rows(path):
        identity = _text(row, "id", place, required=True)
        if identity in tools:
            raise DatasetError(f"{place}: the id {identity!r} stands there twice")
        server = server_name(_text(row, "server", place) or "server")
        name = _text(row, "name", place, required=True)
        while (server, name) in taken:
            name += "_"
        taken.add((server, name))
        schema = row.get("input_schema") or {}
        if not isinstance(schema, Mapping):
            raise DatasetError(f"{place}: input_schema must be an object")
        tools[identity] = DatasetTool(
            id=identity,
            server=server,
            name=name,
            title=_text(row, "title", place),
            description=_text(row, "description", place),
            input_schema=schema,
            category=_text(row, "category", place),
        )
    if not tools:
        raise DatasetError(f"{path} holds no tool")
    return tuple(tools.values())


def server_name(raw: str) -> str:
    r"""Make any text a usable server name: no colon, no control character, no outer space.

    Example:
        >>> server_name(" a:b\n") == "a" + COLON + "b"
        True
    """
    seen = "".join(c for c in raw.replace(":", COLON) if c.isprintable()).strip()
    return seen[:100].strip() or "server"


def _load_queries(path: Path, known: set[str]) -> tuple[DatasetQuery, ...]:
    queries = []
    for place, row in _rows(path):
        gold = _names(row.get("gold_tools"), f"{place}: gold_tools")
        raw = row.get("gold_alternatives") or [[name] for name in gold]
        if not isinstance(raw, list):
            raise DatasetError(f"{place}: gold_alternatives must be a list of lists of ids")
        slots = [frozenset(_names(slot, f"{place}: gold_alternatives")) for slot in raw]
        unknown = sorted(frozenset().union(*slots) - known)
        if unknown:
            raise DatasetError(f"{place}: no tool has the id {unknown[0]!r}")
        identity = _text(row, "id", place, required=True)
        queries.append(
            DatasetQuery(
                id=identity,
                text=_text(row, "text", place, required=True),
                slots=tuple(dict.fromkeys(slot for slot in slots if slot)),
                group=str(row.get("group") or identity),
                tools=tuple(gold),
                edges=_edges(row.get("gold_edges"), f"{place}: gold_edges"),
                arguments=row.get("gold_args"),
            )
        )
    return tuple(queries)


def _load_relations(path: Path, known: set[str]) -> tuple[Stated, ...]:
    if not path.exists():
        return ()
    found = read.read(_content(path), name=path.name)
    for line, message in found.problems:
        raise DatasetError(f"{path}, line {line}: {message}" if line else f"{path}: {message}")
    for relation in found.relations:
        for end in (relation.source, relation.target):
            if end not in known:
                raise DatasetError(f"{path}, line {relation.line}: no tool has the id {end!r}")
    return found.relations


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from None


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each line's place and object."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    place = f"{path}, line {number}"
                    yield place, _object(line, place)
    except FileNotFoundError:
        raise DatasetError(f"{path} is missing") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DatasetError(f"{path} is not UTF-8 text") from None


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DatasetError(f"{place}: no JSON ({error.msg} at column {error.colno})") from None
    if not isinstance(row, dict):
        raise DatasetError(f"{place}: must be a JSON object")
    return row


def _text(row: Mapping[str, Any], key: str, place: str, *, required: bool = False) -> str:
    value = row.get(key)
    if value is None and not required:
        return ""
    if isinstance(value, str | int) and str(value).strip():
        return str(value)
    if required or not isinstance(value, str):
        raise DatasetError(f"{place}: {key} must be a text that is not empty")
    return value


def _edges(value: Any, place: str) -> tuple[tuple[str, str], ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise DatasetError(f"{place} must be a list of pairs of ids")
    pairs = [_names(pair, place) for pair in value]
    if any(len(pair) != PAIR for pair in pairs):
        raise DatasetError(f"{place} must be a list of pairs of ids")
    return tuple((pair[0], pair[1]) for pair in pairs)


def _names(value: Any, place: str) -> Sequence[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(f"{place} must be a list of ids")
    return value
