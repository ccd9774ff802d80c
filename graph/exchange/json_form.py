"""A graph as one JSON document, written one relation a line and read with line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

from graph.exchange.check import Gathering, TooMany
from graph.exchange.document import (
    BELONGS_TO,
    CATEGORY_MARK,
    FORMAT,
    VERSION,
    Document,
    Read,
    Stated,
    StatedEvidence,
    StatedTool,
    shown,
)
from graph.exchange.json_lines import unique, what
from graph.relations import Kind

KNOWN: Final = frozenset({"format", "version", "team", "tools", "categories"})
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = JSONDecoder(object_pairs_hook=unique)
_HINT: Final = "a file of one relation a line is JSON Lines; name it .jsonl"


def write(document: Document) -> Iterator[str]:
    """Yield the text of a document, in pieces; the same graph always gives the same text."""
    head = {"format": FORMAT, "version": VERSION}
    if document.team:
        head["team"] = document.team
    yield "{\n"
    for key, value in head.items():
        yield f'"{key}": {_dumps(value)},\n'
    names = sorted({tool.category for tool in document.tools if tool.category})
    categories = [{"id": CATEGORY_MARK + name, "name": name} for name in names]
    yield from _array("categories", categories, last=False)
    yield from _array("tools", map(_tool, document.tools), last=False)
    yield from _array("relations", rows(document), last=True)
    yield "}\n"


def write_lines(document: Document) -> Iterator[str]:
    """Yield the relations of a document as JSON Lines."""
    for row in rows(document):
        yield _dumps(row) + "\n"


def rows(document: Document) -> Iterator[Mapping[str, Any]]:
    """Yield the relations of a document, then the edges from tools to their categories."""
    yield from map(relation, document.relations)
    for tool in document.tools:
        if tool.category:
            target = CATEGORY_MARK + tool.category
            yield {"source": tool.id, "target": target, "kind": BELONGS_TO}


def relation(stated: Stated) -> dict[str, Any]:
    """Return a relation as a JSON object; what is empty is left out."""
    row: dict[str, Any] = {
        "source": stated.source,
        "target": stated.target,
        "kind": stated.kind.value,
    }
    if stated.kind is Kind.DEPENDS_ON:
        row["required"] = stated.required
    if stated.confidence is not None:
        row["confidence"] = stated.confidence
    row |= {key: value for key in ("reason", "version") if (value := getattr(stated, key))}
    if stated.deprecated_at is not None:
        row["deprecated_at"] = stated.deprecated_at.isoformat()
    if stated.rejected:
        row["rejected"] = True
    if stated.evidence:
        row["evidence"] = [evidence(item) for item in stated.evidence]
    return row


def evidence(item: StatedEvidence) -> dict[str, Any]:
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


def read(text: str) -> Read:
    """Read a document, or a bare list of relations.

    Returns:
        Its relations, each with the line it begins in; and what is wrong, by line. Nothing can be
        read behind a place that is no JSON.
    """
    gathering, walk = Gathering(), _Walk(text)
    try:
        if walk.peek() == "[":
            walk.gather(gathering)
        else:
            _document(walk, gathering)
        if walk.peek() and not gathering.problems.count:
            gathering.problems.add(walk.line, f"text follows the document; {_HINT}")
    except JSONDecodeError as error:
        gathering.problems.add(error.lineno if text.strip() else 1, _not_json(error, text))
    except RecursionError:
        gathering.problems.add(walk.line, "nested too deeply")
    except (ValueError, TooMany) as error:
        gathering.problems.add(walk.line, str(error))
    return gathering.result()


def _document(walk: _Walk, gathering: Gathering) -> None:
    has_relations = False
    for key in walk.names():
        if key == "relations":
            has_relations = True
            walk.gather(gathering)
            continue
        line = walk.line
        if walk.peek() == "[":
            walk.skip()
            value: Any = []
        else:
            value = walk.value()
        if key == "format" and value != FORMAT:
            raise ValueError(f"the format is {shown(value)}; expected {FORMAT!r}")
        if key == "version" and value != VERSION:
            raise ValueError(f"version {shown(value)} is not known; this reads version {VERSION}")
        if key not in KNOWN:
            gathering.note(f"line {line}: {shown(key)} ignored")
    if not has_relations:
        gathering.problems.add(1, f'no "relations" in it; {_HINT}')


class _Walk:
    """Goes through a JSON text, one value after another, and counts lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._counted = 0
        self._line = 1

    @property
    def line(self) -> int:
        """Line of the next value."""
        self.peek()
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def take(self, characters: str) -> str:
        """Go past one of these characters, and return it."""
        found = self.peek()
        if not found or found not in characters:
            raise JSONDecodeError(f"expected {' or '.join(characters)}", self._text, self._at)
        self._at += 1
        return found

    def value(self) -> Any:
        """Go past a value, and return it."""
        self.peek()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def names(self) -> Iterator[str]:
        """Yield the names in an object; its reader goes past the value of each."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            if self.peek() != '"':
                raise JSONDecodeError('expected a name in "', self._text, self._at)
            key = self.value()
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return

    def items(self) -> Iterator[tuple[int, Any]]:
        """Go past a list; yield the line and value of each item."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            line = self.line
            yield line, self.value()
            if self.take(",]") == "]":
                return

    def skip(self) -> None:
        """Go past a list."""
        for _ in self.items():
            pass

    def gather(self, gathering: Gathering) -> None:
        """Go past a list of relations, and gather them."""
        if self.peek() != "[":
            raise JSONDecodeError("relations must be a list", self._text, self._at)
        for line, row in self.items():
            if isinstance(row, dict):
                gathering.add(line, row)
            else:
                gathering.refuse(line, f"a relation must be an object, not {shown(row)}")


def _not_json(error: JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "the file is empty"
    cut = "; is the file cut off?" if error.pos >= len(text.rstrip()) else ""
    return f"no JSON: {what(error)} at column {error.colno}{cut}"


def _tool(tool: StatedTool) -> dict[str, Any]:
    filed = {"category": tool.category} if tool.category else {}
    return {"id": tool.id, **filed, **tool.metrics}


def _array(key: str, items: Iterable[Mapping[str, Any]], *, last: bool) -> Iterator[str]:
    yield f'"{key}": ['
    between = "\n"
    for item in items:
        yield between + _dumps(item)
        between = ",\n"
    yield ("]" if between == "\n" else "\n]") + ("\n" if last else ",\n")


def _dumps(value: Any) -> str:
    """Write JSON that any reader of UTF-8 takes, and that keeps to one line of its own."""
    text = json.dumps(value, ensure_ascii=False)
    return _NEEDS_ESCAPE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_NEEDS_ESCAPE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
