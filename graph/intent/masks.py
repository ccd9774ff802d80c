"""Leave the literal values out of a text: what is kept of an intent holds none of them."""

from __future__ import annotations

import re

_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"  # scripts written without spaces
_RUN = rf"[^\s{_WIDE}]"
_LETTER = rf"[^\W\d{_WIDE}]"
_PATH_PART = rf"[^\s/\\,;:\"'<>|{_WIDE}]{{1,255}}+"  # bounded: tried at every bracket

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
_CAPITAL = r"(?!I\b)[A-Z][\w’&-]*+(?:'s\b)?+(?![#+:@/\\])"  # noqa: RUF001 - as typed
_NAME = re.compile(rf"(?<=[^\W_] ){_CAPITAL}(?: {_CAPITAL})*+")
"""Capitalised words that begin no sentence: names of people, places, companies."""
NAMES_SHARE = 0.6
"""Where more of the words are capitalised they are no names but a heading."""
_GERMAN = frozenset(
    {"das", "den", "der", "die", "eine", "für", "mit", "nicht", "und", "von", "zu"}
)
MIN_GERMAN = 2
"""So many of these in a text, and its nouns are capitalised."""
_SPACES = re.compile(r"\s+")


def mask(text: str) -> str:
    """Remove URLs, addresses, paths, file names, quoted strings, words with digits, and names.

    Linear in the length of the text.

    Returns:
        What is left, on one line; may be empty.

    Example:
        >>> mask('Email bob@example.org the file "Plan B" from /srv/plans before 10:30')
        'Email the file from before'
        >>> mask("tell me the time in New York now")
        'tell me the time in now'
    """
    if _has_names(text.split()):
        text = _NAME.sub(" ", text)
    return _SPACES.sub(" ", _LITERAL.sub(" ", text)).strip(" ,.;:")


def _has_names(words: list[str]) -> bool:
    if sum(word[0].isupper() for word in words) > NAMES_SHARE * len(words):
        return False
    return len(_GERMAN.intersection(words)) < MIN_GERMAN
