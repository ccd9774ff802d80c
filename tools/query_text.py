"""Prepare queries: bound, clean and split them, with idioms and values in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Final, NamedTuple

from gateway_project.foundation.user_error import UserError
from tools import embedding_text
from tools.translate import gloss_text

MAX_CHARS = 4_000
"""More than any model reads; a longer query is cut, with a warning."""

MAX_SENTENCES = 6
MIN_SENTENCE_WORDS = 3
MIN_SENTENCE_CHARS = 9  # for scripts that put no spaces between words
MAX_WORDS = 200

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - CJK marks
MAX_SPLIT_CHARS = 160
"""A longer query describes a goal; its parts are its sentences."""
_PART_END = re.compile(
    rf"{_SENTENCE_END.pattern}|,\s+(?:(?:and|then)\s+)*|\s(?:and then|and|then)\s+|[，、]",  # noqa: RUF001
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")  # noqa: RUF001 - an apostrophe as people type it


class QueryError(UserError, ValueError):
    """The query cannot be searched for; the message says what to do."""

    code = "invalid_arguments"


@dataclass(frozen=True, kw_only=True)
class PreparedQuery:
    """A query ready to be searched for.

    Attributes:
        text: The whole query, cleaned and bounded.
        sentences: Its sentences if there are several, and the parts of a short one; each is also
            embedded by itself.
        words: Its words, including those inside compound names, and those of `gloss` and `plain`.
            Whole paths and addresses count as the kind of thing they name.
        plain: The query in English with its idioms in plain words and its values by kind, which
            is also embedded; empty if it has neither.
        gloss: The English for a query in another language, embedded instead of it; empty if it
            needs none.
        is_cut: Whether it exceeded the limit.
    """

    text: str
    sentences: tuple[str, ...]
    words: tuple[str, ...]
    plain: str
    gloss: str
    is_cut: bool

    @property
    def embedded_texts(self) -> list[str]:
        """The whole in English, its sentences, and its plain form: what is embedded, in order."""
        return [
            self.gloss or self.text,
            *self.sentences,
            *((self.plain,) if self.plain else ()),
        ]


def read_query(raw: str) -> PreparedQuery:
    """Clean a query and split it into sentences and words.

    Raises:
        QueryError: If nothing is left but control characters and white space.

    Example:
        >>> read_query("Find a flight. Then book a hotel!").sentences
        ('Find a flight.', 'Then book a hotel!')
    """
    lines = [
        embedding_text.clean_text(line, limit=2 * MAX_CHARS)
        for line in raw[: 2 * MAX_CHARS].splitlines()
    ]
    whole = "\n".join(line for line in lines if line)
    if not whole:
        raise QueryError("the query is empty: describe in words what the tool should do")
    text = whole[:MAX_CHARS]
    gloss = gloss_text(text)
    english = gloss or text
    described = describe_values(english)
    plain = rewrite_idioms(described) or ("" if described == english else described)
    named = " ".join(find_file_names(text))  # they name things; parts of whole paths seldom do
    foreign = describe_values(text) if gloss else ""
    words = dict.fromkeys(
        word for part in (foreign, described, named, plain) for word in split_words(part)
    )
    return PreparedQuery(
        text=text.replace("\n", " "),
        sentences=_split_sentences(english),
        words=tuple(words)[:MAX_WORDS],
        plain=plain,
        gloss=gloss,
        is_cut=len(whole) > MAX_CHARS or len(raw) > 2 * MAX_CHARS,
    )


def _split_sentences(text: str) -> tuple[str, ...]:
    boundary = _PART_END if len(text) <= MAX_SPLIT_CHARS else _SENTENCE_END
    parts = [part.strip() for part in boundary.split(text)]
    sentences = [
        part
        for part in parts
        if len(part.split()) >= MIN_SENTENCE_WORDS
        or (not part.isascii() and len(part) >= MIN_SENTENCE_CHARS)
    ]
    return tuple(sentences[:MAX_SENTENCES]) if len(sentences) > 1 else ()


def split_words(text: str) -> tuple[str, ...]:
    """List the words of a query, each once, including those inside compound names."""
    found: dict[str, None] = {}
    for word in _WORD.findall(embedding_text.split_into_pairs(text)):
        found[word] = None
        parts = embedding_text.split_name(word).split()
        # Parts of compound names and file names; numbers and single letters are noise.
        found |= dict.fromkeys(part for part in parts if len(part) > 1 and not part.isdigit())
    return tuple(found)[:MAX_WORDS]


MAX_EVERYDAY_CHARS: Final = 500
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
    return text if len(text) > MAX_EVERYDAY_CHARS else _VALUE.sub(_describe, text)


def find_file_names(text: str) -> list[str]:
    """List the names of files that a text states without a folder at its root.

    Example:
        >>> find_file_names("copy plan_b.docx to /srv/plans/old.docx")
        ['plan_b.docx']
    """
    found = _VALUE.finditer(text) if len(text) <= MAX_EVERYDAY_CHARS else ()
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


GAP: Final = "~"
OPTIONAL_GAP: Final = "~?"
"""A gap that may be missing: "tick ~? off" is "tick it off" and "tick off the task"."""
_GAP: Final = r"((?:\s+[\w'./#@:-]+){1,4}?)"
_IDIOM_WORD: Final = re.compile(r"[\w']+")
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
    if len(query) > MAX_EVERYDAY_CHARS:
        return ""
    text = query.lower().translate(_APOSTROPHES)
    text = before = _CONTRACTED.sub(lambda match: _CONTRACTIONS[match[0]], text)
    words = frozenset(_IDIOM_WORD.findall(text))
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
