"""Split names of tools and parameters into words."""

from __future__ import annotations

import re
import unicodedata

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_HIDDEN_CATEGORIES = ("Mn", "Cf")
"""Unicode categories that a reader does not see as letters: combining marks, format controls."""


def split_name_words(text: str) -> tuple[str, ...]:
    """Split a name into lower-case words: camelCase, snake_case, kebab-case.

    Compatibility forms, accents and invisible characters are folded first, so that they cannot
    hide a word.

    Example:
        >>> split_name_words("repo.deleteFile_v2")
        ('repo', 'delete', 'file', 'v2')
        >>> split_name_words("HTTPServer-restart")
        ('http', 'server', 'restart')
    """
    normal = text if text.isascii() else _fold_characters(text)
    return tuple(_WORD.findall(split_camel_case(normal).lower()))


def split_camel_case(text: str) -> str:
    """Insert a space between the words of camelCase, also after an acronym.

    Example:
        >>> split_camel_case("getHTTPServer of main")
        'get HTTP Server of main'
    """
    return _CAMEL.sub(" ", text)


def _fold_characters(text: str) -> str:
    return "".join(
        char
        for char in unicodedata.normalize("NFKD", text)
        if unicodedata.category(char) not in _HIDDEN_CATEGORIES
    )
