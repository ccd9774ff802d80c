"""Patterns of the values that intents state."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from graph.suggestion.binding.dates import DATE_PATTERN, TIME_PATTERN


class ValueKind(StrEnum):
    """Kind of a stated value, by its form."""

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
    "parquet|ipynb|db|bak|bin|pcap|apk|exe|iso|dmg|jar|patch|diff|srt|vtt|m4a|flac|ogg|aac|mkv|avi"
    "|webm|wmv|bmp|tiff?|heic|psd|epub|mobi|rtf|tex|bib|ods|odp|dump|gpx|kml|geojson|cfg|lua|php"
    "|cpp|hpp|swift|vue|jsx|scss|proto|7z|rar|bz2|xz|tgz|pem|crt|sqlite3?"
)
_NUMBER: Final = r"(?<![\w.])[-+]?[$€£¥]?"
_CAPITAL: Final = (
    r"(?:(?:St|Mr|Mrs|Ms|Dr|Mt)\.|(?:[A-Z]\.)+"
    r"|[A-Z](?:[\w'’&-]|\.(?=\w))*)"  # noqa: RUF001 - as typed
)
"""A capitalised word; includes full stops only inside it and in abbreviations."""
TIME_ZONE: Final = (
    r"(?<![\w/])(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Etc|Europe|Indian"
    r"|Pacific)(?:/[A-Z][\w+-]*){1,2}(?![\w/])"
)
"""A time zone by its name in the IANA database."""
_UNESCAPED_CHARACTER: Final = r"(?:[^\"\\]|\\(?!\"))"
_QUOTED_WITH_ESCAPES: Final = (
    rf"\"((?>(?:{_UNESCAPED_CHARACTER}"
    rf"|\\\"(?>{_UNESCAPED_CHARACTER}{{0,200}})\\\"){{1,400}}))\""
)
"""A quoted string with escaped quotation marks, in pairs: a path may end in a backslash."""
_NOT_CLOSING_TAG: Final = r"(?!(?<=[<\[])/[A-Za-z][\w-]{0,30}\s?[>\]])"
"""Prevents a closing tag, such as </b> or [/b], from being read as a path."""
_SPACED_NAME: Final = (
    rf"(?<=[/\\])[A-ZÀ-Þ][\w-]*+(?>(?: (?!{TIME_ZONE})[A-ZÀ-Þ\d][\w-]*+){{1,4}})"
    rf"(?=[/\\]|\.(?:{_EXTENSIONS})\b)"
)
"""A folder or file of capitalised words in a path: "Ann Lee", "Application Support".

Only what directly follows, a separator or an extension, shows that a space belongs to the name.
"""
ESCAPED_SPACE: Final = r"\\ (?=\w)"
"""A space in a path as a shell takes it."""
PATTERNS: Final = (
    (ValueKind.URL, re.compile(r"https?://[^\s,;\"')<>]+|www\.[^\s,;\"')<>]+")),
    (ValueKind.EMAIL, re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?>(?:\.[\w-]++)+)")),
    (
        ValueKind.QUOTED,
        re.compile(
            rf"{_QUOTED_WITH_ESCAPES}|\"([^\"]{{1,400}})\"|“([^”]{{1,400}})”|`([^`]{{1,400}})`"
            r"|(?<!\w)'((?:[^']|'(?=\w)|''(?=\w)){1,400})'(?!\w)"
            r"|‘([^’]{1,400})’|「([^」]{1,400})」|«([^»]{1,400})»"  # noqa: RUF001 - as typed
        ),
    ),
    (ValueKind.DATE, re.compile(DATE_PATTERN, re.IGNORECASE)),
    (ValueKind.TIME, re.compile(TIME_PATTERN)),
    (ValueKind.IP, re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")),
    (ValueKind.PHONE, re.compile(r"(?<![\w.])\+?\d[\d() -]{7,}\d\b")),
    (
        ValueKind.PATH,
        re.compile(
            # A match begins where a run of these characters does: linear in the text.
            rf"{_NOT_CLOSING_TAG}(?<![\w/.\\~-])"
            rf"(?:[A-Za-z]:\\(?:{_SPACED_NAME}|[\w.\-/\\])*"
            rf"|(?:~/|\.{{0,2}}/)(?:{_SPACED_NAME}|{ESCAPED_SPACE}|[\w.\-/\\])*)(?<=\w)[/\\]?"
            rf"|(?<![\w/.-])[\w\-./]*[\w\-]\.(?:{_EXTENSIONS})\b(?![\w/])"
        ),
    ),
    (ValueKind.TAG, re.compile(r"(?<![\w/])[#@][A-Za-z]\w+")),
    (
        ValueKind.NUMBER,
        re.compile(
            rf"{_NUMBER}\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?%?"
            rf"|{_NUMBER}\d{{1,3}}(?:\.\d{{3}})+,\d{{1,2}}%?(?!\d)"
            rf"|{_NUMBER}\d++(?:\.\d++)?%?(?![\w]*\d)"
        ),
    ),
    (
        ValueKind.CODE,
        re.compile(
            r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9_-]{2,}\b"
            r"|(?<![\w./])[a-z][\w.-]{2,80}(?:/[\w.-]{2,80}\w)+(?![\w/])"  # feature/sign-in
        ),
    ),
    (
        ValueKind.NAME,
        re.compile(
            rf"{TIME_ZONE}|{_CAPITAL}"
            rf"(?:,? (?:(?:of|the|and|de|da|in) )?(?:(?!{TIME_ZONE}){_CAPITAL}|\d+\b))*"
        ),
    ),
)
"""Patterns by kind, in the order in which they claim parts of a text."""

INTRODUCED_PHRASE: Final = re.compile(
    r"\b(?:from|to|in|of|for|named|called|about|titled|as|with|at|on|by|near|into|using|between"
    r"|and|is|the|than|like|regarding|through|or|under)\s+(?:the |a |an |my )?"
    r"((?:[\w'’.&-]+ ){0,4}[\w'’.&-]+)",  # noqa: RUF001 - as typed
    re.IGNORECASE,
)
"""Finds phrases after prepositions and similar words."""
SPACED_PATH: Final = re.compile(
    r"(?=[^\n]*\w )(?![^\n]*(?:,| [-~/|>&]| [A-Za-z]:\\))"
    rf"(?:(?:[A-Za-z]:\\|~/|\.{{0,2}}/)[^\n]*|[^\n]*\w\.(?:{_EXTENSIONS}))"
)
"""Matches entirely a quoted path that contains spaces, so that no part of it is a path."""
WORD: Final = re.compile(r"[^\W\d_]{3,}(?:-\w+)*")
CLAIMING_KINDS: Final = frozenset(
    {
        ValueKind.URL,
        ValueKind.EMAIL,
        ValueKind.DATE,
        ValueKind.TIME,
        ValueKind.IP,
        ValueKind.PATH,
        ValueKind.PHONE,
        ValueKind.TAG,
    }
)
"""Kinds whose text cannot contain a value of `YIELDING_KINDS`."""
YIELDING_KINDS: Final = frozenset(
    {
        ValueKind.NUMBER,
        ValueKind.CODE,
        ValueKind.NAME,
        ValueKind.TIME,
        ValueKind.PHONE,
        ValueKind.PATH,
        ValueKind.DATE,
    }
)
UNIT: Final = re.compile(r"[ -]?(°[CF]|km/h|m/s|[A-Za-z]+|%)")
SECRET: Final = re.compile(
    r"(?:sk|pk|rk)[-_][\w-]{8,}|gh[opsu]_\w{8,}|xox[abp]-\S{8,}|AKIA\w{8,}|eyJ[\w-]{10,}\S*"
    r"|(?=\S*[a-z])(?=\S*[A-Z])(?=\S*\d)[\w+/=#!@$%^&*-]{20,}"
)
"""Matches entirely a text that looks like a key, a token or a strong password."""
