"""Patterns of the values that intents state."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from graph.binding.dates import DATE_PATTERN, TIME_PATTERN


class Kind(StrEnum):
    """What a stated value looks like."""

    URL = "url"
    EMAIL = "email"
    QUOTED = "quoted"
    DATE = "date"
    TIME = "time"
    IP = "ip"
    PHONE = "phone"
    PATH = "path"
    TAG = "tag"
    NUMBER = "number"
    CODE = "code"
    NAME = "name"
    PHRASE = "phrase"
    WORD = "word"
    NUMBER_WORD = "number_word"
    LIST = "list"


_EXTENSIONS: Final = (
    "txt|csv|tsv|json|jsonl|pdf|docx?|xlsx?|pptx?|odt|py|js|ts|tsx|java|go|rs|rb|sh|sql|md|rst|"
    "png|jpe?g|gif|svg|webp|mp[34]|wav|mov|html?|css|xml|ya?ml|toml|ini|conf|env|zip|gz|tar|log|"
    "parquet|ipynb|db|bak"
)
_NUMBER: Final = r"(?<![\w.])[-+]?[$€£¥]?"
_CAPITAL: Final = (
    r"(?:(?:St|Mr|Mrs|Ms|Dr|Mt)\.|(?:[A-Z]\.)+"
    r"|[A-Z](?:[\w'’&-]|\.(?=\w))*)"  # noqa: RUF001 - as typed
)
"""A word with a capital letter; a full stop belongs to it only inside and in abbreviations."""
_ZONE: Final = (
    r"(?<![\w/])(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Etc|Europe|Indian"
    r"|Pacific)(?:/[A-Z][\w+-]*){1,2}(?![\w/])"
)
"""A time zone by its name in the IANA database."""
_PLAIN: Final = r"(?:[^\"\\]|\\(?!\"))"
_ESCAPING: Final = rf"\"((?:{_PLAIN}|\\\"{_PLAIN}{{0,200}}+\\\"){{1,400}}+)\""
"""A quoted string that holds escaped quotation marks, in pairs: a path may end in a backslash."""
_NO_MARKUP: Final = r"(?!(?<=[<\[])/[A-Za-z][\w-]{0,30}\s?[>\]])"
"""Keeps the end of an element, such as </b> or [/b], from being read as a path."""
PATTERNS: Final = (
    (Kind.URL, re.compile(r"https?://[^\s,;\"')<>]+|www\.[^\s,;\"')<>]+")),
    (Kind.EMAIL, re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++")),
    (
        Kind.QUOTED,
        re.compile(
            rf"{_ESCAPING}|\"([^\"]{{1,400}})\"|“([^”]{{1,400}})”|`([^`]{{1,400}})`"
            r"|(?<!\w)'((?:[^']|'(?=\w)|''(?=\w)){1,400})'(?!\w)"
            r"|‘([^’]{1,400})’|「([^」]{1,400})」|«([^»]{1,400})»"  # noqa: RUF001 - as typed
        ),
    ),
    (Kind.DATE, re.compile(DATE_PATTERN, re.IGNORECASE)),
    (Kind.TIME, re.compile(TIME_PATTERN)),
    (Kind.IP, re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")),
    (Kind.PHONE, re.compile(r"(?<![\w.])\+?\d[\d() -]{7,}\d\b")),
    (
        Kind.PATH,
        re.compile(
            # A match begins where a run of these characters does: linear in the text.
            rf"{_NO_MARKUP}(?<![\w/.\\~-])(?:[A-Za-z]:\\|~/|\.{{0,2}}/)[\w.\-/\\]*\w[/\\]?"
            rf"|(?<![\w/.-])[\w\-./]*[\w\-]\.(?:{_EXTENSIONS})\b(?![\w/])"
        ),
    ),
    (Kind.TAG, re.compile(r"(?<![\w/])[#@][A-Za-z]\w+")),
    (
        Kind.NUMBER,
        re.compile(
            rf"{_NUMBER}\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?%?"
            rf"|{_NUMBER}\d++(?:\.\d++)?%?(?![\w]*\d)"
        ),
    ),
    (
        Kind.CODE,
        re.compile(
            r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9_-]{2,}\b"
            r"|(?<![\w./])[a-z][\w.-]{2,80}(?:/[\w.-]{2,80}\w)+(?![\w/])"  # feature/sign-in
        ),
    ),
    (
        Kind.NAME,
        re.compile(
            rf"{_ZONE}|{_CAPITAL}"
            rf"(?:,? (?:(?:of|the|and|de|da|in) )?(?:(?!{_ZONE}){_CAPITAL}|\d+\b))*"
        ),
    ),
)
"""In the order in which they claim their part of a text."""

INTRODUCED: Final = re.compile(
    r"\b(?:from|to|in|of|for|named|called|about|titled|as|with|at|on|by|near|into|using|between"
    r"|and|is|the|than|like|regarding|through|or|under)\s+(?:the |a |an |my )?"
    r"((?:[\w'’.&-]+ ){0,4}[\w'’.&-]+)",  # noqa: RUF001 - as typed
    re.IGNORECASE,
)
"""Finds what stands after a preposition and its like."""
FILE_NAME: Final = re.compile(rf"(?:.*[/\\])?[^/\\]*[^/\\.]\.(?:{_EXTENSIONS})")
"""Matches, as a whole, a path that ends in the name of a file, not of a folder."""
WORD: Final = re.compile(r"[^\W\d_]{3,}(?:-\w+)*")
CLAIMED: Final = frozenset(
    {Kind.URL, Kind.EMAIL, Kind.DATE, Kind.TIME, Kind.IP, Kind.PATH, Kind.PHONE, Kind.TAG}
)
"""Kinds inside of which nothing plainer is looked for."""
PLAINER: Final = frozenset(
    {Kind.NUMBER, Kind.CODE, Kind.NAME, Kind.TIME, Kind.PHONE, Kind.PATH, Kind.DATE}
)
UNIT: Final = re.compile(r"[ -]?(°[CF]|km/h|m/s|[A-Za-z]+|%)")
SECRET: Final = re.compile(
    r"(?:sk|pk|rk)[-_][\w-]{8,}|gh[opsu]_\w{8,}|xox[abp]-\S{8,}|AKIA\w{8,}|eyJ[\w-]{10,}\S*"
    r"|(?=\S*[a-z])(?=\S*[A-Z])(?=\S*\d)[\w+/=#!@$%^&*-]{20,}"
)
"""Matches, as a whole, what looks like a key, a token or a strong password."""
