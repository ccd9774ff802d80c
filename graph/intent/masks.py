"""Leave the literal values out of a text: what is kept of an intent holds none of them."""

from __future__ import annotations

import re

_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"  # scripts written without spaces
_RUN = rf"[^\s{_WIDE}]"
_LETTER = rf"[^\W\d{_WIDE}]"
_PATH_PART = rf"[^\s/\\,;:\"'<>|{_WIDE}]++"

QUOTED = re.compile(
    r"\"[^\"]*+\"|“[^”]*+”|«[^»]*+»|「[^」]*+」|『[^』]*+』|《[^》]*+》|`[^`]*+`"
    r"|(?<!\w)'[^']*+'(?!\w)|(?<!\w)‘[^’]*+’(?!\w)"  # noqa: RUF001 - as people type them
)
"""A quoted string with its marks. Every alternative is linear in the text."""

_LITERAL = re.compile(
    "|".join(
        (
            QUOTED.pattern,
            rf"\b[A-Za-z][A-Za-z0-9+.\-]{{0,20}}+://{_RUN}*+",  # URLs
            rf"\bwww\.{_RUN}++",
            rf"(?<![^\s{_WIDE}])[^\s@{_WIDE}]*+@{_RUN}*+",  # addresses, handles
            rf"(?<![^\s(\[{_WIDE}])(?:[A-Za-z]:|~|\.{{1,2}})?+(?:[/\\]{_PATH_PART})++[/\\]?",
            rf"(?<![^\s(\[{_WIDE}]){_PATH_PART}(?:[/\\]{_PATH_PART}){{2,}}+[/\\]?",
            r"(?<![\w\-./\\])[\w\-]++(?:[/\\][\w\-]++)*+\.[a-z]{2,4}(?![\w.])",  # file names
            # Words with digits.
            rf"(?<![^\W{_WIDE}])(?<!-)(?:{_LETTER}|-)*+\d(?:[\-.,:/%]|[^\W{_WIDE}])*+",
        )
    )
)
_SPACES = re.compile(r"\s+")


def mask(text: str) -> str:
    """Remove URLs, addresses, paths, file names, quoted strings and every word with a digit.

    Linear in the length of the text.

    Returns:
        What is left, on one line; may be empty.

    Example:
        >>> mask('Email bob@example.org the file "Plan B" from /srv/plans before 10:30')
        'Email the file from before'
    """
    return _SPACES.sub(" ", _LITERAL.sub(" ", text)).strip(" ,.;:")
