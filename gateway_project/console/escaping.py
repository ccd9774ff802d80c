"""Escapes what others wrote before templates show it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from gateway_project.runs import approval_text


def escape_fields(row: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, invisible characters of their texts escaped."""
    return {field.name: _escape(getattr(row, field.name)) for field in fields(row)}


def _escape(value: Any) -> Any:
    if isinstance(value, str):
        return approval_text.single_line(value)
    return [_escape(one) for one in value] if isinstance(value, tuple) else value
