"""Renders how two definitions of a tool differ, for the person who approves the newer one."""

from __future__ import annotations

import difflib
import json

from tools.definition import Definition, find_differing_fields
from tools.hidden_text import reveal_hidden


def render_diff_lines(old: Definition, new: Definition) -> list[str]:
    """Return the differing fields as a unified diff, with hidden characters revealed.

    Example:
        >>> render_diff_lines(Definition(name="x", title="a"), Definition(name="x", title="b"))
        ['title', '-a', '+b']
    """
    lines: list[str] = []
    for name in find_differing_fields(old, new):
        before, after = (
            _format_field(old, name).splitlines(),
            _format_field(new, name).splitlines(),
        )
        diff = list(difflib.unified_diff(before, after, n=2, lineterm=""))
        lines += [name, *(line for line in diff[2:] if not line.startswith("@@"))]
    return lines


def _format_field(definition: Definition, field: str) -> str:
    value = getattr(definition, field)
    return reveal_hidden(
        value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    )
