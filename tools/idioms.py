"""Rewrite idioms of everyday wishes in the words that tools use."""

from __future__ import annotations

import re
from functools import cache, partial
from importlib import resources
from typing import Final, NamedTuple

MAX_CHARS: Final = 500
"""Longer queries are descriptions, not everyday wishes; they are left as they are."""

GAP: Final = "~"
OPTIONAL_GAP: Final = "~?"
"""A gap that may be missing: "tick ~? off" is "tick it off" and "tick off the task"."""
_GAP: Final = r"((?:\s+[\w'./#@:-]+){1,4}?)"
_WORD: Final = re.compile(r"[\w']+")
_CONTRACTIONS_LIST: Final = (
    "what's who's where's how's when's that's don't doesn't didn't can't haven't hasn't isn't "
    "aren't won't i'm i've let's"
)
_CONTRACTIONS: Final = {word.replace("'", ""): word for word in _CONTRACTIONS_LIST.split()}
"""Contractions as people type them in a hurry, and as the phrases are written."""
_CONTRACTED: Final = re.compile(rf"\b(?:{'|'.join(_CONTRACTIONS)})\b")
_APOSTROPHES: Final = str.maketrans("’ʼ", "''")  # noqa: RUF001 - as people type them


class Idiom(NamedTuple):
    """A phrase and what it asks for.

    Attributes:
        pattern: Matches the phrase in lower case; a group for each gap.
        plain: The same in the words of tools.
        required: For each word that may not be missing, its alternatives: without them the
            pattern, which costs far more, need not be tried.
    """

    pattern: re.Pattern[str]
    plain: str
    required: tuple[frozenset[str], ...]


def rewrite_idioms(query: str) -> str:
    """Return a query with its idioms in plain words; empty if it has none.

    Words inside an idiom are kept behind its plain words.

    Example:
        >>> rewrite_idioms("Jot that down")
        'create a note write that'
        >>> rewrite_idioms("Read the file")
        ''
    """
    if len(query) > MAX_CHARS:
        return ""
    text = query.lower().translate(_APOSTROPHES)
    text = before = _CONTRACTED.sub(lambda match: _CONTRACTIONS[match[0]], text)
    words = frozenset(_WORD.findall(text))
    idioms, by_first_word = load_idioms(), _index_first_words()
    for place in sorted({at for word in words for at in by_first_word.get(word, ())}):
        idiom = idioms[place]
        if any(words.isdisjoint(alternatives) for alternatives in idiom.required):
            continue
        text = idiom.pattern.sub(partial(_write_plainly, idiom.plain), text)
    return "" if text == before else " ".join(text.split())


@cache
def load_idioms() -> tuple[Idiom, ...]:
    """Return the shipped idioms, longest phrase first."""
    content = resources.files("tools").joinpath("idioms.txt").read_text(encoding="utf-8")
    pairs = [
        (phrase.strip(), plain.strip())
        for line in content.splitlines()
        if not line.startswith("#")
        for phrase, arrow, plain in [line.partition("=>")]
        if arrow
    ]
    pairs.sort(key=lambda pair: -len(pair[0]))
    return tuple(
        Idiom(compile_phrase(phrase), plain, _list_required(phrase)) for phrase, plain in pairs
    )


@cache
def _index_first_words() -> dict[str, list[int]]:
    """Return the places of the idioms by the words that they may begin with."""
    found: dict[str, list[int]] = {}
    for place, idiom in enumerate(load_idioms()):
        for word in idiom.required[0]:
            found.setdefault(word, []).append(place)
    return found


def compile_phrase(phrase: str) -> re.Pattern[str]:
    """Compile a phrase of `idioms.txt`, whose first word is neither a gap nor optional.

    Bounded gaps keep matching linear.

    Example:
        >>> bool(compile_phrase("raise/file (a) ticket").search("please raise ticket 5"))
        True
        >>> bool(compile_phrase("tick ~? off").search("tick off the task"))
        True
    """
    pattern = ""
    for word in phrase.lower().split():
        space = r"\s+" if pattern else ""
        if word in (GAP, OPTIONAL_GAP):
            pattern += _GAP if word == GAP else f"{_GAP}?"
        elif word.startswith("("):
            pattern += f"(?:{space}{_match_any(word.strip('()'))})?"
        else:
            pattern += space + _match_any(word)
    return re.compile(rf"(?<!\w){pattern}(?!\w)")


def _list_required(phrase: str) -> tuple[frozenset[str], ...]:
    words = (
        word
        for word in phrase.lower().split()
        if not word.startswith(GAP) and not word.startswith("(")
    )
    return tuple(frozenset(word.split("/")) for word in words)


def _match_any(word: str) -> str:
    return f"(?:{'|'.join(map(re.escape, word.split('/')))})"


def _write_plainly(plain: str, match: re.Match[str]) -> str:
    return " ".join((plain, *(gap.strip() for gap in match.groups() if gap)))
