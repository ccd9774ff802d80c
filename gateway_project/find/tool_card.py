"""A tool as a client sees it among search results, in few tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Literal

from gateway_project.foundation.schema_normalise import normalise
from gateway_project.foundation.text import strip_invisible, strip_invisible_deep
from graph.enhance.answer import EntryRole
from tools.catalogue import CatalogueTool

Detail = Literal["name", "summary", "full"]

SUMMARY_LENGTH = 200
"""Characters of a description in a summary: enough to choose by, some 45 tokens."""
_MAX_READ_CHARS: Final = 10 * SUMMARY_LENGTH
"""Characters read for a summary, which may be mostly white space."""
SIGNATURE_LENGTH = 400
"""Characters of a signature; longer ones end in an ellipsis, and describe_tool has the rest."""
MAX_ENUM_VALUES = 6
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。])\s")


@dataclass(frozen=True, kw_only=True)
class ToolCard:
    """One found tool.

    Attributes:
        tool: Canonical id, as call_tool takes it.
        name: Exposed name.
        score: Relevance in [0, 1].
        role: Why it is listed.
        reasons: Why it was found, in words.
        warnings: Caveats about calling it.
        description: Whole or its beginning; None at detail `name`.
        arguments: Short signature; None unless the detail is `summary`.
        schema: JSON Schema of the arguments as published; None unless the detail is `full`.
        reads: True if read_tool calls it, else None.
    """

    tool: str
    name: str
    score: float
    role: EntryRole
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    description: str | None = None
    arguments: str | None = None
    schema: Mapping[str, Any] | None = None
    reads: Literal[True] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the card as sent: without fields that are None."""
        fields: dict[str, Any] = {
            "tool": self.tool,
            "name": self.name,
            "score": round(self.score, 3),
            "role": self.role,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
        }
        optional = ("reads", "description", "arguments", "schema")
        return fields | {
            key: getattr(self, key) for key in optional if getattr(self, key) is not None
        }


def make_card(
    tool: CatalogueTool,
    *,
    name: str,
    detail: Detail,
    score: float,
    reasons: tuple[str, ...],
    warnings: tuple[str, ...] = (),
) -> ToolCard:
    """Make the card of a matching tool.

    Args:
        tool: From the catalogue.
        name: Its exposed name.
        detail: `name`, `summary` (enough to call a simple tool) or `full` (with schema).
        score: Relevance in [0, 1].
        reasons: Why it was found.
        warnings: Caveats about calling it.
    """
    return ToolCard(
        tool=tool.tool,
        name=name,
        score=score,
        role="match",
        reasons=reasons,
        warnings=(*warnings, *list_cautions(tool)),
        reads=None if tool.read_doubt else True,
        **_detail_fields(tool, detail),
    )


def _detail_fields(tool: CatalogueTool, detail: Detail) -> dict[str, Any]:
    if detail == "summary":
        beginning = strip_invisible(tool.description.lstrip()[:_MAX_READ_CHARS])
        return {
            "description": summarize_text(beginning),
            "arguments": format_signature(tool.input_schema),
        }
    if detail == "full":
        schema = strip_invisible_deep(tool.input_schema)
        return {"description": strip_invisible(tool.description), "schema": schema}
    return {}


def list_cautions(tool: CatalogueTool) -> tuple[str, ...]:
    """Return findings in a tool's texts: hidden characters, or instructions to models."""
    return tuple(strip_invisible(finding) for finding in tool.findings)


def summarize_text(text: str) -> str:
    """Return the first sentences that fit, or the beginning of the first.

    Example:
        >>> summarize_text("Shows the log.  Newest first.")
        'Shows the log. Newest first.'
    """
    flat = " ".join(text.lstrip()[:_MAX_READ_CHARS].split())
    if len(flat) <= SUMMARY_LENGTH:
        return flat
    beginnings = accumulate(_SENTENCE_END.split(flat), lambda text, more: f"{text} {more}")
    fitting = [text for text in beginnings if len(text) <= SUMMARY_LENGTH]
    return fitting[-1] if fitting else flat[: SUMMARY_LENGTH - 1].rstrip() + "…"


def format_signature(schema: Mapping[str, Any]) -> str:
    """Write the fields of a schema as a signature; a `?` marks optional fields.

    Example:
        >>> format_signature({"properties": {"path": {"type": "string"},
        ...                           "depth": {"type": "integer", "default": 1}},
        ...            "required": ["path"]})
        'path: string, depth?: integer = 1'
    """
    root = normalise(schema)
    fields = root.get("properties", {})
    required = _required_names(root.get("required"))
    ordered = sorted(fields, key=lambda name: name not in required)
    texts: list[str] = []
    length = 0
    for name in ordered:
        if length > SIGNATURE_LENGTH:  # longer than fits already
            break
        texts.append(_format_field(name, fields[name], is_required=name in required))
        length += len(texts[-1])
    text = ", ".join(texts)
    while len(text) > SIGNATURE_LENGTH and len(texts) > 1:
        texts.pop()
        text = ", ".join([*texts, "…"])
    return text if len(text) <= SIGNATURE_LENGTH else text[: SIGNATURE_LENGTH - 1] + "…"


def _required_names(required: object) -> frozenset[str]:
    """Return the names that a schema requires."""
    rows = required if isinstance(required, list) else ()
    return frozenset(name for name in rows if isinstance(name, str))


def _format_field(name: str, schema: object, *, is_required: bool) -> str:
    kind = _format_type(schema)
    text = f"{strip_invisible(name)}{'' if is_required else '?'}" + (f": {kind}" if kind else "")
    default = schema.get("default") if isinstance(schema, Mapping) else None
    return text if default is None else f"{text} = {_format_literal(default)}"


def _format_type(schema: object) -> str:
    if not isinstance(schema, Mapping):
        return ""
    if isinstance(schema.get("enum"), list):
        values = [_format_literal(value) for value in schema["enum"]]
        more = ["…"] if len(values) > MAX_ENUM_VALUES else []
        return "|".join([*values[:MAX_ENUM_VALUES], *more])
    forms = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(forms, list):
        kinds = [_format_type(form) for form in forms]
        return "|".join(dict.fromkeys(kinds)) if all(kinds) else ""
    declared = schema.get("type", "")
    kind = "|".join(declared) if isinstance(declared, list) else str(declared)
    if kind == "array" and (inner := _format_type(schema.get("items"))):
        return f"{inner}[]" if "|" not in inner else f"({inner})[]"
    fields = schema.get("properties")
    if kind == "object" and isinstance(fields, Mapping) and fields:
        required = _required_names(schema.get("required"))
        names = [strip_invisible(name) + ("" if name in required else "?") for name in fields]
        return "{" + ", ".join(names) + "}"
    return kind


def _format_literal(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return strip_invisible(
        text if len(text) <= SUMMARY_LENGTH // 4 else text[: SUMMARY_LENGTH // 4] + "…"
    )
