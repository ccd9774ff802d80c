"""Mask the literal values of a text, so that no stored form of an intent contains them."""

from __future__ import annotations

import re

_WIDE_CHARACTERS = (
    "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"  # scripts written without spaces
)
_NON_SPACE = rf"[^\s{_WIDE_CHARACTERS}]"
_LETTER = rf"[^\W\d{_WIDE_CHARACTERS}]"
_PATH_PART = rf"[^\s/\\,;:\"'<>|{_WIDE_CHARACTERS}]{{1,255}}+"  # bounded: tried at each bracket

QUOTED = re.compile(
    r"\"[^\"]*+\"|„[^„“”]*+[“”]|“[^”]*+”|«[^»]*+»|「[^」]*+」|『[^』]*+』|《[^》]*+》|`[^`]*+`"
    r"|(?<!\w)'[^']*+'(?!\w)|(?<!\w)‘[^’]*+’(?!\w)"  # noqa: RUF001 - as people type them
)
"""A quoted string with its marks. Every alternative matches in linear time."""

_LITERAL = re.compile(
    "|".join(
        (
            QUOTED.pattern,
            rf"\b[A-Za-z][A-Za-z0-9+.\-]{{0,20}}+://{_NON_SPACE}*+",  # URLs
            rf"\bwww\.{_NON_SPACE}++",
            # Addresses, handles
            rf"(?<![^\s{_WIDE_CHARACTERS}])[^\s@{_WIDE_CHARACTERS}]*+@{_NON_SPACE}*+",
            rf"(?<![^\s(\[{_WIDE_CHARACTERS}])(?>(?:[A-Za-z]:|~|\.{{1,2}})?)(?>(?:[/\\]{_PATH_PART})+)[/\\]?",
            rf"(?<![^\s(\[{_WIDE_CHARACTERS}]){_PATH_PART}(?>(?:[/\\]{_PATH_PART}){{2,}})[/\\]?",
            r"(?<![\w\-./\\])[\w\-]++(?>(?:[/\\][\w\-]++)*)\.[a-z]{2,4}(?![\w.])",  # file names
            # Words with digits.
            rf"(?<![^\W{_WIDE_CHARACTERS}])(?<!-)(?>(?:{_LETTER}|-)*)\d(?>(?:[\-.,:/%]|[^\W{_WIDE_CHARACTERS}])*)",
        )
    )
)
_CAPITAL = r"(?!I\b)[A-Z][\w’&-]*+(?>(?:'s\b)?)(?![#+:@/\\])"  # noqa: RUF001 - as typed
_PROPER_NAME = re.compile(rf"(?<=[^\W_] ){_CAPITAL}(?>(?: {_CAPITAL})*)")
"""Capitalised words that do not begin a sentence: names of people, places, companies."""
MAX_CAPITALIZED_SHARE = 0.6
"""A text with a higher share of capitalised words is a heading, not names."""
_GERMAN_WORDS = frozenset(
    {"das", "den", "der", "die", "eine", "für", "mit", "nicht", "und", "von", "zu"}
)
MIN_GERMAN_WORDS = 2
"""A text with at least this many of these words is German: it capitalises all nouns."""
_SPACES = re.compile(r"\s+")
MIN_MASKED_CHARS = 4
"""If masking leaves fewer characters, the text itself is used instead."""


def mask_values(text: str) -> str:
    """Remove URLs, addresses, paths, file names, quoted strings, words with digits, and names.

    Linear in the length of the text.

    Returns:
        The rest of the text, on one line; may be empty.

    Example:
        >>> mask_values('Email bob@example.org the file "Plan B" from /srv/plans before 10:30')
        'Email the file from before'
        >>> mask_values("tell me the time in New York now")
        'tell me the time in now'
    """
    if _can_contain_names(text.split()):
        text = _PROPER_NAME.sub(" ", text)
    return _SPACES.sub(" ", _LITERAL.sub(" ", text)).strip(" ,.;:")


def _can_contain_names(words: list[str]) -> bool:
    if sum(word[0].isupper() for word in words) > MAX_CAPITALIZED_SHARE * len(words):
        return False
    return len(_GERMAN_WORDS.intersection(words)) < MIN_GERMAN_WORDS


def non_empty_masked_text(text: str, masked: str) -> str:
    """Return the masked form of a text, or the text itself if masking leaves too little."""
    return masked if len(masked) >= MIN_MASKED_CHARS else text
