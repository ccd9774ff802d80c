"""What the result of a call says, for pages; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from gateway_project.foundation.text import strip_invisible

MAX_RESULT_CHARS: Final = 20_000
_MAX_JSON_CHARS: Final = 200_000
_FAILURE: Final = re.compile(
    r"\W{0,9}(?:"
    r"[\w.]{0,60}(?:error|exception)\b[^\n:]{0,60}:"
    r"|traceback \(most recent"
    r"|fail(?:ed|ure)\b[^\n.]{0,60}(?:\bto\b|:)"
    r"|fatal:|access denied|permission denied|unauthori[sz]ed\b|forbidden\b"
    r"|(?:could not|cannot|unable to) (?!be\b)"
    r"|(?:http(?:/[\d.]+)? )?[45]\d\d (?:bad|unauth|forbid|not|internal|service|gateway|too)"
    r")",
    re.IGNORECASE,
)
"""How texts begin that report a failure."""
_FAILURE_KEYS: Final = ("error", "errors")
_SUCCESS_KEYS: Final = ("success", "ok")


def describe_blocks(raw: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the content of a raw result as kinds and texts; data that is no text is left out."""
    blocks = raw.get("content")
    return [_describe_block(one) for one in blocks] if isinstance(blocks, list) else []


def describe_structured(raw: Mapping[str, Any]) -> str:
    """Return the structured content of a raw result as JSON; empty: it has none."""
    structured = raw.get("structuredContent")
    return "" if structured is None else _cut(write_json(structured))


def reads_like_error(raw: Mapping[str, Any]) -> bool:
    """Whether a result that its server did not mark as an error says that something failed.

    Example:
        >>> reads_like_error({"content": [{"type": "text", "text": "Error: no such file"}]})
        True
        >>> reads_like_error({"content": [{"type": "text", "text": "Error handling in Go"}]})
        False
    """
    if raw.get("isError") is True:
        return False
    if _reports_failure(raw.get("structuredContent")):
        return True
    blocks = raw.get("content")
    first = blocks[0] if isinstance(blocks, list) and blocks else None
    text = first.get("text") if isinstance(first, Mapping) else None
    if not isinstance(text, str):
        return False
    if text.lstrip().startswith("{") and len(text) <= _MAX_JSON_CHARS:
        try:
            return _reports_failure(json.loads(text))
        except (ValueError, RecursionError):
            return False
    return _FAILURE.match(text) is not None


def write_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _reports_failure(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    if any(value.get(key) is False for key in _SUCCESS_KEYS):
        return True
    named = [value[key] for key in _FAILURE_KEYS if key in value]
    return any(isinstance(one, str | Mapping | list) and one for one in named)


def _describe_block(block: Any) -> dict[str, str]:
    if not isinstance(block, Mapping):
        return {"kind": "unknown", "text": _cut(write_json(block))}
    kind = str(block.get("type", "unknown"))
    if kind == "text":
        return {"kind": kind, "text": _cut(str(block.get("text", "")))}
    size = len(str(block.get("data", "")))
    shown = {key: value for key, value in block.items() if key != "data"}
    note = f" ({size:,} characters of data, not shown)" if size else ""
    return {"kind": kind, "text": _cut(write_json(shown)) + note}


def _cut(text: str) -> str:
    visible = strip_invisible(text)
    if len(visible) <= MAX_RESULT_CHARS:
        return visible
    return f"{visible[:MAX_RESULT_CHARS]}… ({len(text):,} characters)"
