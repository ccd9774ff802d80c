"""The text that stands for a tool in search: for its vector, and for its words.

Everything here comes from servers and is untrusted: control and invisible characters are removed
and every part is bounded. What goes in, and with what weight, was chosen by cross-validation over
nine public sets; see docs/search.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway_project.foundation import canonical
from tools.definition import Definition

TEXT_VERSION = 1  # part of every text hash: raise it when the text changes
MAX_CHARS = 4_000  # of the whole text; models read some 1,000 to 2,000 characters
MAX_NAME_CHARS = 200
MAX_PARAMETERS = 60
MAX_PARAMETER_CHARS = 400

NAME_WEIGHT = 2.0
BODY_WEIGHT = 1.0
PARAMETER_NAME_WEIGHT = 0.5
PARAMETER_TEXT_WEIGHT = 0.3
SERVER_WEIGHT = 0.5

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn"}  # control, format, surrogate, private use, unassigned
_WORD = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+",
)
_SPACES = re.compile(r"\s+")
_SCRIPT_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)


@dataclass(frozen=True, kw_only=True)
class Field:
    """A part of a tool's text and how much a word in it counts.

    Attributes:
        text: Words separated by spaces.
        weight: What one occurrence adds to a word's frequency.
        is_name: Whether it is the tool's name or title.
    """

    text: str
    weight: float
    is_name: bool = False


def clean(text: str, *, limit: int) -> str:
    r"""Remove what cannot be seen, make every run of white space one space, and cut.

    Example:
        >>> clean("read\u200b a\n\tfile\x00", limit=9)
        'read a fi'
    """
    # Ten times the limit is looked at: text of invisible characters only must not cost time.
    spaced = _SPACES.sub(" ", text[: limit * 10])
    if not spaced.isascii() or not spaced.isprintable():
        spaced = "".join(c for c in spaced if unicodedata.category(c) not in _UNSEEN)
    return _SPACES.sub(" ", spaced).strip()[:limit].rstrip()


def split_name(name: str) -> str:
    """Split a name in camelCase, snake_case, kebab-case or dotted form into words.

    Example:
        >>> split_name("getHTTPResponse_v2.list-all")
        'get HTTP Response v 2 list all'
    """
    return " ".join(_WORD.findall(name))


def compose(definition: Definition) -> str:
    """Write the text that is embedded for a tool.

    Its name in words comes first, then title, description, and the parameters with their
    descriptions: a model cuts what it cannot hold from the end.

    Example:
        >>> compose(Definition(name="getTime", description="Current time."))
        'get Time: Current time.'
    """
    head = split_name(clean(definition.name, limit=MAX_NAME_CHARS)) or definition.name
    title = clean(definition.title, limit=MAX_NAME_CHARS)
    if title and title.lower() != head.lower():
        head = f"{head} ({title})"
    body = clean(definition.description, limit=MAX_CHARS)
    parameters = " ".join(
        f"{split_name(name).lower()}: {text.rstrip('.')}."
        for name, text in _parameters(definition.input_schema)
    )
    return clean(f"{head}: {body} {parameters}", limit=MAX_CHARS)


def text_hash(text: str) -> str:
    """SHA-256 of a composed text and the version of its form."""
    return canonical.text_digest(f"{TEXT_VERSION}\n{text}")


def fields(definition: Definition, *, server: str) -> tuple[Field, ...]:
    """List a tool's text by field, ready to be split into words."""
    parameters = _parameters(definition.input_schema)
    parts = (
        (split_name(clean(definition.name, limit=MAX_NAME_CHARS)), NAME_WEIGHT, True),
        (clean(definition.title, limit=MAX_NAME_CHARS), NAME_WEIGHT, True),
        (clean(definition.description, limit=MAX_CHARS), BODY_WEIGHT, False),
        (" ".join(split_name(name) for name, _ in parameters), PARAMETER_NAME_WEIGHT, False),
        (" ".join(text for _, text in parameters), PARAMETER_TEXT_WEIGHT, False),
        (split_name(clean(server, limit=MAX_NAME_CHARS)), SERVER_WEIGHT, False),
    )
    words = dict.fromkeys(split_name(definition.title).lower().split())
    named = set(split_name(definition.name).lower().split())
    repeats_name = bool(words) and named.issuperset(words)
    return tuple(
        Field(text=pairs(text), weight=weight, is_name=is_name)
        for index, (text, weight, is_name) in enumerate(parts)
        if text and not (index == 1 and repeats_name)
    )


def pairs(text: str) -> str:
    """Cut runs of scripts written without spaces into overlapping pairs of characters.

    A word parser takes such a run for one word, which no query would ever match.

    Example:
        >>> pairs("用必应搜 web")
        '用必 必应 应搜 web'
    """
    if text.isascii():
        return text
    spaced = _SCRIPT_WITHOUT_SPACES.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)
    return _SPACES.sub(" ", spaced).strip()


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for index in range(len(run) - 1):
        yield run[index : index + 2]


def _parameters(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and description of the top-level parameters; schemas in the wild may be anything."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    found = []
    for name, declared in list(properties.items())[:MAX_PARAMETERS]:
        text = declared.get("description") if isinstance(declared, Mapping) else None
        described = clean(text, limit=MAX_PARAMETER_CHARS) if isinstance(text, str) else ""
        found.append((clean(str(name), limit=MAX_NAME_CHARS), described))
    return found
