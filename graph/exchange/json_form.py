"""A graph as one JSON document, written one relation a line and read with line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

from graph.exchange.check import RelationCollector, TooManyRelations
from graph.exchange.document import (
    BELONGS_TO,
    CATEGORY_PREFIX,
    FORMAT,
    VERSION,
    GraphDocument,
    ParsedDocument,
    StatedEvidence,
    StatedRelation,
    StatedTool,
    quote_value,
)
from graph.exchange.json_lines import build_unique_object, describe_json_error
from graph.relations import RelationKind

DOCUMENT_KEYS: Final = frozenset({"format", "version", "team", "tools", "categories"})
_WHITESPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = JSONDecoder(object_pairs_hook=build_unique_object)
_JSON_LINES_HINT: Final = "a file of one relation a line is JSON Lines; name it .jsonl"


def write_json(document: GraphDocument) -> Iterator[str]:
    """Yield the text of a document, in pieces; the same graph always gives the same text."""
    head = {"format": FORMAT, "version": VERSION}
    if document.team:
        head["team"] = document.team
    yield "{\n"
    for key, value in head.items():
        yield f'"{key}": {_dump_json(value)},\n'
    names = sorted({tool.category for tool in document.tools if tool.category})
    categories = [{"id": CATEGORY_PREFIX + name, "name": name} for name in names]
    yield from _write_array("categories", categories, last=False)
    yield from _write_array("tools", map(_tool_to_json, document.tools), last=False)
    yield from _write_array("relations", iterate_rows(document), last=True)
    yield "}\n"


def write_lines(document: GraphDocument) -> Iterator[str]:
    """Yield the relations of a document as JSON Lines."""
    for row in iterate_rows(document):
        yield _dump_json(row) + "\n"


def iterate_rows(document: GraphDocument) -> Iterator[Mapping[str, Any]]:
    """Yield the relations of a document, then the edges from tools to their categories."""
    yield from map(relation_to_json, document.relations)
    for tool in document.tools:
        if tool.category:
            target = CATEGORY_PREFIX + tool.category
            yield {"source": tool.id, "target": target, "kind": BELONGS_TO}


def relation_to_json(stated: StatedRelation) -> dict[str, Any]:
    """Return a relation as a JSON object; what is empty is left out."""
    row: dict[str, Any] = {
        "source": stated.source,
        "target": stated.target,
        "kind": stated.kind.value,
    }
    if stated.kind is RelationKind.DEPENDS_ON:
        row["required"] = stated.required
    if stated.confidence is not None:
        row["confidence"] = stated.confidence
    row |= {key: value for key in ("reason", "version") if (value := getattr(stated, key))}
    if stated.deprecated_at is not None:
        row["deprecated_at"] = stated.deprecated_at.isoformat()
    if stated.rejected:
        row["rejected"] = True
    if stated.evidence:
        row["evidence"] = [evidence_to_json(item) for item in stated.evidence]
    return row


def evidence_to_json(item: StatedEvidence) -> dict[str, Any]:
    """Return evidence as a JSON object; what is empty is left out."""
    row: dict[str, Any] = {"source": item.source.value}
    if item.confidence is not None:
        row["confidence"] = item.confidence
    if item.successes or item.failures:
        row |= {"successes": item.successes, "failures": item.failures}
    if item.seconds is not None:
        row["seconds"] = item.seconds
    if item.fields:
        row["fields"] = [dict(flow) for flow in item.fields]
    row |= {key: value for key in ("origin", "team") if (value := getattr(item, key))}
    if item.last_seen_at is not None:
        row["last_seen_at"] = item.last_seen_at.isoformat()
    return row


def read_json(text: str) -> ParsedDocument:
    """Read a document, or a bare list of relations.

    Returns:
        Its relations, each with the line it begins in; and what is wrong, by line. Nothing can be
        read behind a place that is no JSON.
    """
    collector, walk = RelationCollector(), _JsonWalker(text)
    try:
        if walk.peek_character() == "[":
            walk.collect_relations(collector)
        else:
            _read_document(walk, collector)
        if walk.peek_character() and not collector.problems.count:
            collector.problems.add_problem(
                walk.current_line, f"text follows the document; {_JSON_LINES_HINT}"
            )
    except JSONDecodeError as error:
        collector.problems.add_problem(
            error.lineno if text.strip() else 1, _describe_syntax_error(error, text)
        )
    except RecursionError:
        collector.problems.add_problem(walk.current_line, "nested too deeply")
    except (ValueError, TooManyRelations) as error:
        collector.problems.add_problem(walk.current_line, str(error))
    return collector.build_result()


def _read_document(walk: _JsonWalker, collector: RelationCollector) -> None:
    has_relations = False
    for key in walk.iterate_names():
        if key == "relations":
            has_relations = True
            walk.collect_relations(collector)
            continue
        line = walk.current_line
        if walk.peek_character() == "[":
            walk.skip_list()
            value: Any = []
        else:
            value = walk.read_value()
        if key == "format" and value != FORMAT:
            raise ValueError(f"the format is {quote_value(value)}; expected {FORMAT!r}")
        if key == "version" and value != VERSION:
            raise ValueError(
                f"version {quote_value(value)} is not known; this reads version {VERSION}"
            )
        if key not in DOCUMENT_KEYS:
            collector.add_warning(f"line {line}: {quote_value(key)} ignored")
    if not has_relations:
        collector.problems.add_problem(1, f'no "relations" in it; {_JSON_LINES_HINT}')


class _JsonWalker:
    """Goes through a JSON text, one value after another, and counts lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._counted = 0
        self._line = 1

    @property
    def current_line(self) -> int:
        """Line of the next value."""
        self.peek_character()
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def peek_character(self) -> str:
        """Return the next character that is no space; empty at the end."""
        found = _WHITESPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def take_character(self, characters: str) -> str:
        """Go past one of these characters, and return it."""
        found = self.peek_character()
        if not found or found not in characters:
            raise JSONDecodeError(f"expected {' or '.join(characters)}", self._text, self._at)
        self._at += 1
        return found

    def read_value(self) -> Any:
        """Go past a value, and return it."""
        self.peek_character()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def iterate_names(self) -> Iterator[str]:
        """Yield the names in an object; its reader goes past the value of each."""
        self.take_character("{")
        if self.peek_character() == "}":
            self.take_character("}")
            return
        while True:
            if self.peek_character() != '"':
                raise JSONDecodeError('expected a name in "', self._text, self._at)
            key = self.read_value()
            self.take_character(":")
            yield key
            if self.take_character(",}") == "}":
                return

    def iterate_items(self) -> Iterator[tuple[int, Any]]:
        """Go past a list; yield the line and value of each item."""
        self.take_character("[")
        if self.peek_character() == "]":
            self.take_character("]")
            return
        while True:
            line = self.current_line
            yield line, self.read_value()
            if self.take_character(",]") == "]":
                return

    def skip_list(self) -> None:
        """Go past a list."""
        for _ in self.iterate_items():
            pass

    def collect_relations(self, collector: RelationCollector) -> None:
        """Go past a list of relations, and gather them."""
        if self.peek_character() != "[":
            raise JSONDecodeError("relations must be a list", self._text, self._at)
        for line, row in self.iterate_items():
            if isinstance(row, dict):
                collector.add_row(line, row)
            else:
                collector.add_problem(
                    line, f"a relation must be an object, not {quote_value(row)}"
                )


def _describe_syntax_error(error: JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "the file is empty"
    cut = "; is the file cut off?" if error.pos >= len(text.rstrip()) else ""
    return f"not JSON: {describe_json_error(error)} at column {error.colno}{cut}"


def _tool_to_json(tool: StatedTool) -> dict[str, Any]:
    filed = {"category": tool.category} if tool.category else {}
    return {"id": tool.id, **filed, **tool.metrics}


def _write_array(key: str, items: Iterable[Mapping[str, Any]], *, last: bool) -> Iterator[str]:
    yield f'"{key}": ['
    between = "\n"
    for item in items:
        yield between + _dump_json(item)
        between = ",\n"
    yield ("]" if between == "\n" else "\n]") + ("\n" if last else ",\n")


def _dump_json(value: Any) -> str:
    """Write JSON that any reader of UTF-8 takes, and that keeps to one line of its own."""
    text = json.dumps(value, ensure_ascii=False)
    return _NEEDS_ESCAPE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_NEEDS_ESCAPE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
