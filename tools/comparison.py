"""Two definitions of a tool side by side, for the person who approves the newer."""

from __future__ import annotations

import difflib
import json

from django.utils.html import format_html, format_html_join

from tools.definition import Definition, differences
from tools.hidden_text import visible

_TABLE = (
    "<table><thead><tr><th>Field</th><th>Approved</th><th>Now</th></tr></thead>"
    "<tbody>{}</tbody></table>"
)
_ROW = "<tr><th>{}</th><td><pre>{}</pre></td><td><pre>{}</pre></td></tr>"


def as_table(old: Definition, new: Definition) -> str:
    """Return the fields that differ as an HTML table; all that servers said is escaped.

    Example:
        >>> "<td><pre>a</pre></td><td><pre>&lt;b&gt;</pre></td>" in as_table(
        ...     Definition(name="x", title="a"), Definition(name="x", title="<b>"))
        True
    """
    rows = [(name, _shown(old, name), _shown(new, name)) for name in differences(old, new)]
    return format_html(_TABLE, format_html_join("", _ROW, rows))


def as_lines(old: Definition, new: Definition) -> list[str]:
    """Return the fields that differ as a unified difference; nothing in it is invisible.

    Example:
        >>> as_lines(Definition(name="x", title="a"), Definition(name="x", title="b"))
        ['title', '-a', '+b']
    """
    lines: list[str] = []
    for name in differences(old, new):
        before, after = _shown(old, name).splitlines(), _shown(new, name).splitlines()
        compared = list(difflib.unified_diff(before, after, n=2, lineterm=""))
        lines += [name, *(line for line in compared[2:] if not line.startswith("@@"))]
    return lines


def _shown(said: Definition, field: str) -> str:
    value = getattr(said, field)
    return visible(
        value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    )
