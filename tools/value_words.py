"""Name the kinds of values a text states: "read /etc/hosts" asks for a file, not for hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MAX_CHARS: Final = 500
"""Longer texts describe their values in words."""

_KINDS_BY_EXTENSION: Final[Mapping[str, str]] = {
    extension: kind
    for kind, extensions in {
        "excel workbook": "xlsx xls xlsm",
        "csv file": "csv tsv",
        "word document": "docx doc",
        "pdf document": "pdf",
        "markdown file": "md",
        "presentation": "pptx ppt",
        "image file": "png jpg jpeg gif webp svg",
        "audio file": "mp3 m4a wav ogg flac",
        "video file": "mp4 mov mkv avi webm",
        "database file": "db sqlite sqlite3",
    }.items()
    for extension in extensions.split()
}
_VALUE: Final = re.compile(
    r"(?P<url>\bhttps?://\S++)"
    r"|(?P<email>(?<![\w.+-])[\w.+-]{1,64}+@[\w-]++\.[\w.]++)"
    r"|(?P<path>(?<![\w:/.])(?:~|\.{1,2})?/[\w.~-]++(?>(?:/[\w.*~-]*+)*))"
    r"|(?P<cells>(?<![\w:])[A-Z]{1,3}\d+:[A-Z]{1,3}\d+(?![\w:]))"
    r"|(?P<hours>(?<![\w.])\d+(?:\.\d+)?h(?!\w))"
    r"|(?P<coordinates>(?<![\w.])-?\d{1,3}\.\d{1,9}\s?,\s?-?\d{1,3}\.\d{1,9}(?![\w.]))"
    r"|(?P<sum>(?<![\w.])\d[\d.]*+(?>(?:\s?[*+^\u00d7\u00f7]\s?\d[\d.]*+)+)(?!\w))"
    r"|(?P<file>(?<![\w/@.-])[\w-]++(?>(?:/[\w-]++)*)\.(?:[a-z][a-z0-9]{1,4})(?![\w/]|\.\w))"
)
_KINDS_BY_GROUP: Final[Mapping[str, str]] = {
    "url": "web page url",
    "email": "email address",
    "cells": "cells range",
    "hours": "hours of work",
    "coordinates": "coordinates",
    "sum": "calculate expression",
}
_HOST_ENDINGS: Final = frozenset(
    ["com", "org", "net", "io", "dev", "de", "es", "fr", "uk", "eu", "cn", "ai", "app"]
)


def describe_values(text: str) -> str:
    """Replace paths, addresses, sums and the like by the kind of thing they name.

    Linear in the length of the text.

    Example:
        >>> describe_values("mail /srv/plan.xlsx to bo@example.org")
        'mail excel workbook to email address'
        >>> describe_values("read /etc/hosts"), describe_values("open https://example.org now")
        ('read path', 'open web page url now')
        >>> describe_values("list the branches")
        'list the branches'
    """
    return text if len(text) > MAX_CHARS else _VALUE.sub(_describe, text)


def find_file_names(text: str) -> list[str]:
    """List the names of files that a text states without a folder at its root.

    Example:
        >>> find_file_names("copy plan_b.docx to /srv/plans/old.docx")
        ['plan_b.docx']
    """
    found = _VALUE.finditer(text) if len(text) <= MAX_CHARS else ()
    return [match["file"] for match in found if match["file"]]


def _describe(match: re.Match[str]) -> str:
    kind = _KINDS_BY_GROUP.get(match.lastgroup or "")
    if kind is not None:
        return kind
    extension = match[0].rpartition(".")[2].lower()
    if match["file"] and extension in _HOST_ENDINGS:
        return match[0]
    is_file = "." in match[0].rpartition("/")[2][1:]
    return _KINDS_BY_EXTENSION.get(extension, "file") if is_file else "path"
