"""Interpolation of `${VAR}` references in a server's entry."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tools.upstream.errors import UnsetVariable

# `env:` is how VS Code spells it; other `${…}` forms are not ours and stay as they are.
CLIENT_FOLDER = "${client:folder}"
"""In an entry: the folder in which the calling client works. No form of a variable."""
_FORM = r"(?:env:)?(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}"
_REFERENCE = re.compile(rf"\$\$\{{|\$\{{{_FORM}")
_MISLEADING = re.compile(rf"(?<=\$)\$\{{|\$\{{(?={_FORM})")


def interpolate_text(
    text: str, environ: Mapping[str, str], *, field: str = "the text", server: str = ""
) -> str:
    """Replace `${VAR}` and `${VAR:-default}`; every other dollar sign stays.

    `$${` is an escape and becomes `${`. As in the shell, a default also replaces a variable that
    is set but empty. Values are not interpolated again.

    Args:
        text: Text as written in the server's entry.
        environ: Variables to read from.
        field: Field of the entry, for the error.
        server: Name of the server, for the error.

    Raises:
        UnsetVariable: If a variable without a default is not set.

    Example:
        >>> interpolate_text("${HOME}/x?p=${PORT:-80}&c=$5", {"HOME": "/root"})
        '/root/x?p=80&c=$5'
    """

    def replace(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if name is None:
            return "${"
        value = environ.get(name)
        if default is not None:
            return value or default
        if value is None:
            raise UnsetVariable(variable=name, field=field, server=server)
        return value

    return _REFERENCE.sub(replace, text)


def escape_text(text: str) -> str:
    """Return a text that interpolation turns into the given one.

    Example:
        >>> escape_text("for x in a b; do echo ${x} ${#x}; done")
        'for x in a b; do echo $${x} ${#x}; done'
    """
    return _MISLEADING.sub("$${", text)


def fill_known(text: str, known: Mapping[str, str]) -> str:
    """Replace references to known variables; leave others unchanged.

    Example:
        >>> fill_known("${A} ${B:-x} ${C}", {"A": "1", "B": ""})
        '1 x ${C}'
    """

    def replace(match: re.Match[str]) -> str:
        value = known.get(match["name"] or "")
        return match[0] if value is None else value or match["default"] or ""

    return _REFERENCE.sub(replace, text)


def find_variables(text: str) -> frozenset[str]:
    """Return the names of the variables a text references.

    Example:
        >>> sorted(find_variables("${A} ${B:-x} $C $${D}"))
        ['A', 'B']
    """
    return frozenset(match["name"] for match in _REFERENCE.finditer(text) if match["name"])
