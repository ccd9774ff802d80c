"""Read GraphML with line numbers, by a parser that expands nothing and fetches nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from xml.parsers import expat

from graph.exchange import check, fields
from graph.exchange.check import RelationCollector, TooManyRelations
from graph.exchange.document import FORMAT, VERSION, ParsedDocument, quote_value
from graph.exchange.graphml import unescape_xml
from graph.exchange.json_lines import build_unique_object

IGNORED_ATTRIBUTES: Final = frozenset({"", "weight", "sources", "label", "id"})
"""Attributes of edges that say nothing new, or mean nothing here."""
MAX_DEPTH: Final = 100
MAX_KEYS: Final = 1_000
_OWNER_ELEMENTS: Final = ("graph", "node", "edge")
_NUMBER_ATTRIBUTES: Final = ("confidence",)
_FLAG_ATTRIBUTES: Final = ("required", "rejected")
_BOOLEAN_VALUES: Final[Mapping[str, bool]] = {"true": True, "1": True, "false": False, "0": False}
_TRUNCATION_ERRORS: Final = frozenset(
    {expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN}
)


class GraphmlRefused(ValueError):
    """XML that is not read, though it may be well formed."""


@dataclass(kw_only=True, slots=True)
class _GraphmlElement:
    """A graph, a node or an edge with its attributes, as texts by name."""

    line: int
    xml_attributes: Mapping[str, str]
    is_directed: bool
    data: dict[str, str] = field(default_factory=dict)


class _GraphmlContent:
    """What a GraphML file holds, filled in while it is parsed.

    Attributes:
        tools: Id of its tool by id of a node, where the node tells it.
        edges: In order of the file; their ends are ids of nodes.
        defaults: Attributes of edges that do not have them themselves.
    """

    def __init__(self, line: Callable[[], int]) -> None:
        self._line = line
        self._open: list[str] = []
        self._owners: list[_GraphmlElement] = []
        self._names: dict[str, str] = {}
        self._key: Mapping[str, str] = {}
        self._text: list[str] | None = None
        self.graph: dict[str, str] = {}
        self.tools: dict[str, str] = {}
        self.edges: list[_GraphmlElement] = []
        self.defaults: dict[str, str] = {}

    def start_element(self, name: str, given: dict[str, str]) -> None:
        """Take in the beginning of an element."""
        tag = name.rpartition(" ")[2]
        self._check_element(tag)
        self._open.append(tag)
        if tag in _OWNER_ELEMENTS:
            self._open_owner(tag, given)
        elif tag == "key":
            self._names[given.get("id", "")] = given.get("attr.name", "")
            if len(self._names) > MAX_KEYS:
                raise GraphmlRefused(f"more than {MAX_KEYS:,} keys")
        if tag in ("key", "data"):
            self._key = given
        if tag in ("data", "default"):
            self._text = []

    def add_text(self, text: str) -> None:
        """Take in text."""
        if self._text is not None:
            self._text.append(text)

    def end_element(self, _name: str) -> None:
        """Take in the end of an element."""
        tag = self._open.pop()
        if tag in ("data", "default") and self._text is not None:
            text, self._text = "".join(self._text), None
            self._store_text(tag, text)
        if tag in _OWNER_ELEMENTS:
            self._close_owner(tag, self._owners.pop())

    def _check_element(self, tag: str) -> None:
        if not self._open and tag != "graphml":
            raise GraphmlRefused(f"not GraphML: its root element is {quote_value(tag)}")
        if len(self._open) >= MAX_DEPTH:
            raise GraphmlRefused("nested too deeply")
        if tag == "hyperedge":
            raise GraphmlRefused(
                "a hyperedge joins any number of tools; a relation is between two"
            )

    def _open_owner(self, tag: str, given: Mapping[str, str]) -> None:
        is_directed = self._owners[-1].is_directed if self._owners else True
        if tag == "graph":
            is_directed = given.get("edgedefault") != "undirected"
        elif tag == "edge" and "directed" in given:
            is_directed = given["directed"] not in ("false", "0")
        self._owners.append(
            _GraphmlElement(line=self._line(), xml_attributes=given, is_directed=is_directed)
        )

    def _close_owner(self, tag: str, owner: _GraphmlElement) -> None:
        if tag == "edge":
            self.edges.append(owner)
        elif tag == "node" and "tool" in owner.data:
            self.tools[owner.xml_attributes.get("id", "")] = owner.data["tool"]
        if max(len(self.edges), len(self.tools)) > check.MAX_RELATIONS:
            raise TooManyRelations
        if tag == "graph" and not self._owners:
            self.graph |= owner.data

    def _store_text(self, tag: str, text: str) -> None:
        if tag == "data" and self._owners:
            self._owners[-1].data[self._names.get(self._key.get("key", ""), "")] = text
        elif tag == "default" and self._key.get("for", "all") in ("edge", "all"):
            self.defaults[self._key.get("attr.name", "")] = text


def read_graphml(data: bytes) -> ParsedDocument:
    """Read a GraphML file.

    An edge's ends are tools by the attribute `tool` of their nodes, or else by the nodes' ids.
    Document type declarations are refused, so that there are no entities to expand or fetch.

    Args:
        data: The file; its encoding is what it declares, UTF-8 if it declares none.

    Returns:
        Its relations, each with the line of its edge; and what is wrong, by line. Where the file
        is no XML, nothing of it is read.
    """
    collector = RelationCollector()
    parser = expat.ParserCreate(namespace_separator=" ")
    content = _GraphmlContent(lambda: parser.CurrentLineNumber)
    parser.buffer_text = True
    parser.StartElementHandler = content.start_element
    parser.CharacterDataHandler = content.add_text
    parser.EndElementHandler = content.end_element
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)
        _collect_relations(content, collector)
    except expat.ExpatError as error:
        collector.problems.add_problem(error.lineno, _describe_xml_error(error, data))
    except (GraphmlRefused, TooManyRelations) as error:
        collector.problems.add_problem(parser.CurrentLineNumber, str(error))
    except (LookupError, ValueError) as error:
        collector.problems.add_problem(
            1, f"its encoding cannot be read: {error}; save it as UTF-8"
        )
    return collector.build_result()


def _refuse_doctype(*_: object) -> None:
    raise GraphmlRefused("a document type declaration (DOCTYPE) is not allowed; remove it")


def _describe_xml_error(error: expat.ExpatError, data: bytes) -> str:
    if not data.strip():
        return "the file is empty"
    message = expat.ErrorString(error.code) or "unknown error"
    cut = "; is the file cut off?" if message in _TRUNCATION_ERRORS else ""
    return f"not XML: {message} at column {error.offset + 1}{cut}"


def _collect_relations(content: _GraphmlContent, collector: RelationCollector) -> None:
    said = content.graph.get("format", FORMAT), content.graph.get("version", str(VERSION))
    is_ours = "format" in content.graph
    if is_ours and said != (FORMAT, str(VERSION)):
        expected = f"{FORMAT} {VERSION}"
        raise GraphmlRefused(
            f"the graph's format is {quote_value(' '.join(said))}; expected {expected!r}"
        )
    restore = unescape_xml if is_ours else str
    for edge in content.edges:
        row = _parse_edge_row(content.defaults | edge.data, restore)
        for end in ("source", "target"):
            node = edge.xml_attributes.get(end, "")
            row[end] = restore(content.tools.get(node, node))
        if not edge.is_directed and _is_directed_kind(row):
            collector.problems.add_problem(
                edge.line, f"{quote_value(row['kind'])} has a direction, and this edge has none"
            )
            continue
        collector.add_row(edge.line, row)


def _parse_edge_row(data: Mapping[str, str], restore: Callable[[str], str]) -> dict[str, Any]:
    """Return the attributes of an edge by name, each as the value that its text stands for."""
    row: dict[str, Any] = {}
    for name, text in data.items():
        if name in IGNORED_ATTRIBUTES or text == "":
            continue
        if name in _NUMBER_ATTRIBUTES:
            row[name] = _parse_number(text)
        elif name in _FLAG_ATTRIBUTES:
            row[name] = _BOOLEAN_VALUES.get(text.strip().lower(), text)
        elif name == "evidence":
            row[name] = _parse_json(restore(text))
        else:
            row[name] = restore(text)
    return row


def _parse_number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _parse_json(text: str) -> Any:
    """Parse JSON; what is none stays a text, which is then told as wrong."""
    try:
        return json.loads(text, object_pairs_hook=build_unique_object)
    except (ValueError, RecursionError):
        return text


def _is_directed_kind(row: Mapping[str, Any]) -> bool:
    kind = fields.KINDS.get(fields.normalize_kind(row.get("kind", "")))
    return kind is not None and not kind.traits.is_symmetric
