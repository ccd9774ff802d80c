"""A tool as a client sees it among search results: what it is, in as few tokens as serve."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Literal

from gateway_project.foundation.schema_normalise import normalise
from graph.enhance.found import Role
from tools.catalogue import CatalogueTool

Detail = Literal["name", "summary", "full"]

SUMMARY_LENGTH = 200
"""Characters of a description in a summary: enough to choose by, some 45 tokens."""
SIGNATURE_LENGTH = 400
"""Characters of a signature; longer ones end in an ellipsis, and describe_tool has the rest."""
MAX_CHOICES = 6
JOINERS: Final = frozenset("\u200c\u200d")
"""Invisible, yet needed to write Persian, Hindi and others."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。])\s")


@dataclass(frozen=True, kw_only=True)
class Card:
    """One found tool.

    Attributes:
        tool: Canonical id, as call_tool takes it.
        name: Exposed name.
        score: Relevance in [0, 1].
        role: Why it is listed.
        reasons: Why it was found, in plain words.
        warnings: What to know before calling it.
        description: Whole or its beginning; None where only the name was asked for.
        arguments: Signature in short; None unless a summary was asked for.
        schema: JSON Schema of the arguments as published; None unless all was asked for.
    """

    tool: str
    name: str
    score: float
    role: Role
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    description: str | None = None
    arguments: str | None = None
    schema: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what is sent: the fields that say something."""
        fields: dict[str, Any] = {
            "tool": self.tool,
            "name": self.name,
            "score": round(self.score, 3),
            "role": self.role,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
        }
        optional = ("description", "arguments", "schema")
        return fields | {
            key: getattr(self, key) for key in optional if getattr(self, key) is not None
        }


def make(
    tool: CatalogueTool,
    *,
    name: str,
    detail: Detail,
    score: float,
    reasons: tuple[str, ...],
    warnings: tuple[str, ...] = (),
) -> Card:
    """Describe a matching tool at a level of detail.

    Args:
        tool: From the catalogue.
        name: Its exposed name.
        detail: `name`, `summary` (enough to call a simple tool) or `full` (with its schema).
        score: Relevance in [0, 1].
        reasons: Why it was found.
        warnings: What to know before calling it.
    """
    text = clean(tool.description)
    shown: dict[Detail, dict[str, Any]] = {
        "name": {},
        "summary": {"description": summary(text), "arguments": signature(tool.input_schema)},
        "full": {"description": text, "schema": clean_schema(tool.input_schema)},
    }
    return Card(
        tool=tool.tool,
        name=name,
        score=score,
        role="match",
        reasons=reasons,
        warnings=(*warnings, *cautions(tool)),
        **shown[detail],
    )


def cautions(tool: CatalogueTool) -> tuple[str, ...]:
    """Say what was found in a tool's texts that people would not see or models might obey."""
    return tuple(clean(finding) for finding in tool.findings)


def summary(text: str) -> str:
    """Return the first sentences that fit, or the beginning of the first.

    Example:
        >>> summary("Shows the log.  Newest first.")
        'Shows the log. Newest first.'
    """
    flat = " ".join(text.split())
    if len(flat) <= SUMMARY_LENGTH:
        return flat
    beginnings = accumulate(_SENTENCE_END.split(flat), lambda text, more: f"{text} {more}")
    fitting = [text for text in beginnings if len(text) <= SUMMARY_LENGTH]
    return fitting[-1] if fitting else flat[: SUMMARY_LENGTH - 1].rstrip() + "…"


def signature(schema: Mapping[str, Any]) -> str:
    """Write the fields of a schema as a signature; what follows a `?` may be left out.

    Example:
        >>> signature({"properties": {"path": {"type": "string"},
        ...                           "depth": {"type": "integer", "default": 1}},
        ...            "required": ["path"]})
        'path: string, depth?: integer = 1'
    """
    root = normalise(schema).schema
    fields = root.get("properties", {})
    required = root.get("required", [])
    ordered = sorted(fields, key=lambda name: name not in required)
    texts = [_field(name, fields[name], needed=name in required) for name in ordered]
    text = ", ".join(texts)
    while len(text) > SIGNATURE_LENGTH and len(texts) > 1:
        texts.pop()
        text = ", ".join([*texts, "…"])
    return text if len(text) <= SIGNATURE_LENGTH else text[: SIGNATURE_LENGTH - 1] + "…"


def _field(name: str, schema: object, *, needed: bool) -> str:
    kind = _kind(schema)
    text = f"{clean(name)}{'' if needed else '?'}" + (f": {kind}" if kind else "")
    default = schema.get("default") if isinstance(schema, Mapping) else None
    return text if default is None else f"{text} = {_literal(default)}"


def _kind(schema: object) -> str:
    if not isinstance(schema, Mapping):
        return ""
    if isinstance(schema.get("enum"), list):
        values = [_literal(value) for value in schema["enum"]]
        more = ["…"] if len(values) > MAX_CHOICES else []
        return "|".join([*values[:MAX_CHOICES], *more])
    forms = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(forms, list):
        kinds = [_kind(form) for form in forms]
        return "|".join(dict.fromkeys(kinds)) if all(kinds) else ""
    given = schema.get("type", "")
    kind = "|".join(given) if isinstance(given, list) else str(given)
    if kind == "array" and (inner := _kind(schema.get("items"))):
        return f"{inner}[]" if "|" not in inner else f"({inner})[]"
    fields = schema.get("properties")
    if kind == "object" and isinstance(fields, Mapping) and fields:
        needed = schema.get("required", [])
        names = [clean(name) + ("" if name in needed else "?") for name in fields]
        return "{" + ", ".join(names) + "}"
    return kind


def _literal(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return clean(text if len(text) <= SUMMARY_LENGTH // 4 else text[: SUMMARY_LENGTH // 4] + "…")


def clean(text: str) -> str:
    r"""Strip control and invisible characters, which could hide words from a person.

    Example:
        >>> clean("a\u202eb\x07c\nd")
        'abc\nd'
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char for char in text if _visible(char))


def _visible(char: str) -> bool:
    return char in "\n\t" or char in JOINERS or unicodedata.category(char)[0] != "C"


def clean_schema(value: Any) -> Any:
    r"""Strip the texts in a schema at any depth; names of fields stay as they are.

    Example:
        >>> clean_schema({"description": "x\u200by"})
        {'description': 'xy'}
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {key: clean_schema(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_schema(item) for item in value]
    return value
