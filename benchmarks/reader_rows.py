"""Make questions of everyday wishes: what `benchmarks.fit_reader` learns from and is judged by."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.bind_everyday import WISHES, load_tools

Span = tuple[int, int]

LEARNED: Final = (
    *(f"assorted_{number}" for number in range(1, 5)),
    *("world", "administration", "research", "tinkering"),
    *(f"stated_{number}" for number in range(1, 19)),
)

ORDERED: Final = tuple(f"ordered_{number}" for number in range(1, 4))
"""Sentences that order what their tool does, or do not."""
SWAPPED: Final = 0.3
"""Share of the values without digits that give way to others in each epoch but the first."""
HELD_OUT: Final = 8
"""Percent of the servers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """A question about a wish, and what is right.

    Attributes:
        text: Its text.
        server: Of the tool.
        question: As `graph.suggestion.binding.questions` asks it.
        is_stated: Whether the wish states a value.
        members: Positions of the right members; empty unless there are members to choose from.
        spans: Where the values stand; None: unknown.
    """

    text: str
    server: str
    question: Any
    is_stated: bool
    members: frozenset[int] = frozenset()
    spans: tuple[Span, ...] | None = ()


def is_held_out(server: str) -> bool:
    """Whether the wishes of a server are not learned from."""
    return (
        int(hashlib.md5(server.encode(), usedforsecurity=False).hexdigest(), 16) % 100 < HELD_OUT
    )


def read_set(folder: Path, name: str) -> Iterator[Row]:
    """Yield the questions about the texts of a set whose tools are known."""
    tools = load_tools(folder / f"everyday_{name}")
    lines = (WISHES / f"{name}.jsonl").read_text("utf-8").splitlines()
    for wish in map(json.loads, lines):
        if "kind" in wish:
            yield from _read_sentence(wish, tools[wish["tool"]])
            continue
        stated = wish.get("arguments", {} if len(wish["tools"]) < 2 else None)
        if stated is None or ("arguments" not in wish and not wish.get("forbidden")):
            continue
        each = stated if isinstance(stated, list) else [stated]
        pairs = [
            *zip(wish["tools"], each, strict=False),
            *((tool, {}) for tool in wish.get("forbidden", ())),
        ]
        for tool, values in pairs:
            if tool in tools:
                yield from make_rows(wish["text"], tools[tool], values)


def _read_sentence(sentence: Mapping[str, Any], tool: Any) -> Iterator[Row]:
    """Yield the questions about a sentence of `ORDERED`.

    What only forbids, reports, asks about, quotes or waits for a call states nothing for it. An
    order states what its tool requires if it has as many values, but not where each one stands.
    """
    from graph.suggestion.binding.questions import ask_about, list_members
    from graph.suggestion.binding.schemas import load_schema

    text = sentence["text"]
    if sentence["kind"] != "order":
        yield from make_rows(text, tool, {})
        return
    required = [one for one in load_schema(tool).parameters.values() if one.is_required]
    if len(required) == len(sentence["values"]):
        for parameter in required:
            if parameter.takes_values and not list_members(parameter):
                question = ask_about(tool, parameter)
                yield Row(
                    text=text, server=tool.server, question=question, is_stated=True, spans=None
                )


def vary_rows(rows: Sequence[Row], drawn: random.Random) -> list[Row]:
    """Return the rows with other values in the same sentences, so that no value is learned.

    A value without digits gives way to one of the same form that another wish states, and the
    digits of all numbers and identifiers are drawn anew.
    """
    texts: dict[str, list[Row]] = {}
    values: dict[object, list[str]] = {}
    for row in rows:
        texts.setdefault(row.text, []).append(row)
        for start, end in row.spans or ():
            values.setdefault(_find_form(row.text[start:end]), []).append(row.text[start:end])
    return [one for group in texts.values() for one in _vary_text(group, values, drawn)]


def _vary_text(
    group: Sequence[Row], values: Mapping[object, Sequence[str]], drawn: random.Random
) -> list[Row]:
    """Return the rows of one text with other values; as they are where values overlap."""
    text, new, at = group[0].text, "", 0
    members = [row.question.text[slice(*span)] for row in group for span in row.question.members]
    tokens = {word: word for member in members for word in member.split()}
    places: dict[Span, Span] = {}
    for start, end in sorted({span for row in group for span in row.spans or ()}):
        if start < at:
            return list(group)
        value = text[start:end]
        new += _draw_digits(text[at:start], drawn, tokens)
        if any(map(str.isdigit, value)) or drawn.random() >= SWAPPED:
            value = _draw_digits(value, drawn, tokens)
        else:
            value = drawn.choice(values[_find_form(value)])
        places[start, end] = (len(new), len(new) + len(value))
        new, at = new + value, end
    new += _draw_digits(text[at:], drawn, tokens)
    return [
        replace(row, text=new, spans=row.spans and tuple(places[one] for one in row.spans))
        for row in group
    ]


def make_rows(text: str, tool: Any, values: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the questions about the parameters of a tool; of objects, none."""
    from graph.suggestion.binding.questions import ask_about, list_members
    from graph.suggestion.binding.schemas import load_schema
    from graph.suggestion.binding.values import is_same_value

    for name, parameter in load_schema(tool).parameters.items():
        value = values.get(name)
        items = value if isinstance(value, list) else [value] if name in values else []
        has_objects = any(isinstance(item, dict | list) for item in items)
        if not (parameter.takes_values or parameter.is_boolean) or has_objects:
            continue
        members = list_members(parameter)
        chosen = frozenset(
            place
            for place, member in enumerate(members)
            if any(is_same_value(member, item) for item in items)
        )
        if members and items and not chosen:
            continue
        found = [find_span(text, parameter, item) for item in items]
        spans = tuple(sorted(span for span in found if span is not None))
        yield Row(
            text=text,
            server=tool.server,
            question=ask_about(tool, parameter),
            is_stated=name in values,
            members=chosen,
            spans=spans if len(spans) == len(items) and (items or name not in values) else None,
        )


def find_span(text: str, parameter: Any, value: Any) -> Span | None:
    """Return where a text states a value: literally, or in a form that converts to it."""
    from graph.suggestion.binding.arguments import NOT_CONVERTIBLE, convert_value
    from graph.suggestion.binding.values import extract_values, is_same_value

    words = f"{value:g}" if isinstance(value, float) else str(value).strip()
    if not words or isinstance(value, bool):
        return None
    plain = re.escape(words)
    match = re.search(rf"(?<!\w){plain}(?!\w)", text, re.IGNORECASE)
    if match is None and (len(words) > 2 or not words.isascii()):
        match = re.search(plain, text, re.IGNORECASE)
    if match is not None:
        return match.span()
    for one in extract_values(text):
        if one.parts:
            continue
        converted = convert_value(parameter, one)
        converted = converted[0] if isinstance(converted, list) else converted
        forms = [one.value, one.text] + [converted] * (converted is not NOT_CONVERTIBLE)
        if any(is_same_value(form, value) for form in forms):
            return one.span
    return None


def _find_form(value: str) -> object:
    """Return what values have in common that may stand in for each other."""
    signs = frozenset(re.findall(r"[^\w\s]", value))
    return len(value.split()), value.isascii(), value[0].isupper(), signs


def _draw_digits(text: str, drawn: random.Random, tokens: dict[str, str]) -> str:
    """Return a text with other digits, but for the first of a long number; equal tokens alike."""

    def draw(match: re.Match[str]) -> str:
        if match[0] not in tokens:
            tokens[match[0]] = re.sub(
                r"(?<=\d)\d|(?<!\d)\d(?!\d)", lambda _: str(drawn.randint(1, 9)), match[0]
            )
        return tokens[match[0]]

    return re.sub(r"[\w#./:-]*\d[\w#./:-]*", draw, text)
