"""Two definitions of a tool side by side, for the person who approves the newer."""

from __future__ import annotations

import json
import unicodedata

from django.utils.html import format_html, format_html_join

from tools.definition import Definition, differences

HIDDEN = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
"""Unicode categories that a reader does not see, or sees as something else."""
LAYOUT = "\n\t"

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


def _shown(said: Definition, field: str) -> str:
    value = getattr(said, field)
    return visible(
        value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    )


def visible(text: str) -> str:
    r"""Write out what a reader would not see: controls, joiners, changes of direction.

    Example:
        >>> visible("a\u202eb")
        'a\\u202eb'
    """
    return "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char) in HIDDEN and char not in LAYOUT
        else char
        for char in text
    )
