"""Read GraphML with line numbers, by a parser that expands nothing and fetches nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from xml.parsers import expat

from graph.exchange import check, fields
from graph.exchange.check import Gathering, TooMany
from graph.exchange.document import FORMAT, VERSION, Read, shown
from graph.exchange.graphml import unescaped
from graph.exchange.json_lines import unique
from graph.relations import SYMMETRIC

IGNORED: Final = frozenset({"", "weight", "sources", "label", "id"})
"""Attributes of edges that say nothing new, or mean nothing here."""
MAX_DEPTH: Final = 100
MAX_KEYS: Final = 1_000
_OWNERS: Final = ("graph", "node", "edge")
_NUMBERS: Final = ("confidence",)
_FLAGS: Final = ("required", "rejected")
_WORDS: Final[Mapping[str, bool]] = {"true": True, "1": True, "false": False, "0": False}
_CUT_OFF: Final = frozenset(
    {expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN}
)


class Refused(ValueError):
    """XML that is not read, though it may be well formed."""


@dataclass(kw_only=True, slots=True)
class _Owner:
    """A graph, a node or an edge with its attributes, as texts by name."""

    line: int
    given: Mapping[str, str]
    is_directed: bool
    data: dict[str, str] = field(default_factory=dict)


class _Content:
    """What a GraphML file holds, filled in while it is parsed.

    Attributes:
        graph: Attributes of the outermost graph.
        tools: Id of its tool by id of a node, where the node tells it.
        edges: In order of the file; their ends are ids of nodes.
        defaults: Attributes of edges that do not have them themselves.
    """

    def __init__(self, line: Callable[[], int]) -> None:
        self._line = line
        self._open: list[str] = []
        self._owners: list[_Owner] = []
        self._names: dict[str, str] = {}
        self._key: Mapping[str, str] = {}
        self._text: list[str] | None = None
        self.graph: dict[str, str] = {}
        self.tools: dict[str, str] = {}
        self.edges: list[_Owner] = []
        self.defaults: dict[str, str] = {}

    def start(self, name: str, given: dict[str, str]) -> None:
        """Take in the beginning of an element."""
        tag = name.rpartition(" ")[2]
        self._check(tag)
        self._open.append(tag)
        if tag in _OWNERS:
            self._own(tag, given)
        elif tag == "key":
            self._names[given.get("id", "")] = given.get("attr.name", "")
            if len(self._names) > MAX_KEYS:
                raise Refused(f"more than {MAX_KEYS:,} keys")
        if tag in ("key", "data"):
            self._key = given
        if tag in ("data", "default"):
            self._text = []

    def text(self, text: str) -> None:
        """Take in text."""
        if self._text is not None:
            self._text.append(text)

    def end(self, _name: str) -> None:
        """Take in the end of an element."""
        tag = self._open.pop()
        if tag in ("data", "default") and self._text is not None:
            text, self._text = "".join(self._text), None
            self._store(tag, text)
        if tag in _OWNERS:
            self._disown(tag, self._owners.pop())

    def _check(self, tag: str) -> None:
        if not self._open and tag != "graphml":
            raise Refused(f"no GraphML: its outermost element is {shown(tag)}")
        if len(self._open) >= MAX_DEPTH:
            raise Refused("nested too deeply")
        if tag == "hyperedge":
            raise Refused("a hyperedge joins any number of tools; a relation is between two")

    def _own(self, tag: str, given: Mapping[str, str]) -> None:
        is_directed = self._owners[-1].is_directed if self._owners else True
        if tag == "graph":
            is_directed = given.get("edgedefault") != "undirected"
        elif tag == "edge" and "directed" in given:
            is_directed = given["directed"] not in ("false", "0")
        self._owners.append(_Owner(line=self._line(), given=given, is_directed=is_directed))

    def _disown(self, tag: str, owner: _Owner) -> None:
        if tag == "edge":
            self.edges.append(owner)
        elif tag == "node" and "tool" in owner.data:
            self.tools[owner.given.get("id", "")] = owner.data["tool"]
        if max(len(self.edges), len(self.tools)) > check.MAX_RELATIONS:
            raise TooMany
        if tag == "graph" and not self._owners:
            self.graph |= owner.data

    def _store(self, tag: str, text: str) -> None:
        if tag == "data" and self._owners:
            self._owners[-1].data[self._names.get(self._key.get("key", ""), "")] = text
        elif tag == "default" and self._key.get("for", "all") in ("edge", "all"):
            self.defaults[self._key.get("attr.name", "")] = text


def read(data: bytes) -> Read:
    """Read a GraphML file.

    An edge's ends are tools by the attribute `tool` of their nodes, or else by the nodes' ids.
    Document type declarations are refused, so that there are no entities to expand or fetch.

    Args:
        data: The file; its encoding is what it declares, UTF-8 if it declares none.

    Returns:
        Its relations, each with the line of its edge; and what is wrong, by line. Where the file
        is no XML, nothing of it is read.
    """
    gathering = Gathering()
    parser = expat.ParserCreate(namespace_separator=" ")
    content = _Content(lambda: parser.CurrentLineNumber)
    parser.buffer_text = True
    parser.StartElementHandler = content.start
    parser.CharacterDataHandler = content.text
    parser.EndElementHandler = content.end
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)
        _gather(content, gathering)
    except expat.ExpatError as error:
        gathering.problems.add(error.lineno, _not_xml(error, data))
    except (Refused, TooMany) as error:
        gathering.problems.add(parser.CurrentLineNumber, str(error))
    except (LookupError, ValueError) as error:
        gathering.problems.add(1, f"its encoding cannot be read: {error}; save it as UTF-8")
    return gathering.result()


def _refuse_doctype(*_: object) -> None:
    raise Refused("a document type declaration (DOCTYPE) is not allowed; remove it")


def _not_xml(error: expat.ExpatError, data: bytes) -> str:
    if not data.strip():
        return "the file is empty"
    message = expat.ErrorString(error.code) or "unknown error"
    cut = "; is the file cut off?" if message in _CUT_OFF else ""
    return f"no XML: {message} at column {error.offset + 1}{cut}"


def _gather(content: _Content, gathering: Gathering) -> None:
    said = content.graph.get("format", FORMAT), content.graph.get("version", str(VERSION))
    is_ours = "format" in content.graph
    if is_ours and said != (FORMAT, str(VERSION)):
        expected = f"{FORMAT} {VERSION}"
        raise Refused(f"the graph's format is {shown(' '.join(said))}; expected {expected!r}")
    restore = unescaped if is_ours else str
    for edge in content.edges:
        row = _row(content.defaults | edge.data, restore)
        for end in ("source", "target"):
            node = edge.given.get(end, "")
            row[end] = restore(content.tools.get(node, node))
        if not edge.is_directed and _needs_direction(row):
            gathering.problems.add(
                edge.line, f"{shown(row['kind'])} has a direction, and this edge has none"
            )
            continue
        gathering.add(edge.line, row)


def _row(data: Mapping[str, str], restore: Callable[[str], str]) -> dict[str, Any]:
    """Return the attributes of an edge by name, each as the value that its text stands for."""
    row: dict[str, Any] = {}
    for name, text in data.items():
        if name in IGNORED or text == "":
            continue
        if name in _NUMBERS:
            row[name] = _number(text)
        elif name in _FLAGS:
            row[name] = _WORDS.get(text.strip().lower(), text)
        elif name == "evidence":
            row[name] = _json(restore(text))
        else:
            row[name] = restore(text)
    return row


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _json(text: str) -> Any:
    """Parse JSON; what is none stays a text, which is then told as wrong."""
    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        return text


def _needs_direction(row: Mapping[str, Any]) -> bool:
    kind = fields.KINDS.get(fields.normal(row.get("kind", "")))
    return kind is not None and kind not in SYMMETRIC
