"""What a text holds that people do not see, and a way to make them see it."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["severe", "notice"]

HIDDEN: Final = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
"""Unicode categories that a reader does not see, or sees as something else."""
LAYOUT: Final = "\n\t"

_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_FLAG = "\U0001f3f4"
MIN_BLANK_CHARS = 80
"""Spaces in a row, or lines of nothing, that push what follows out of sight."""
MIN_BLANK_LINES = 12
MIN_BASE64_CHARS = 80
MIN_READABLE = 0.9
"""Share of letters and the like in what a blob decodes to, for it to be a text."""

_SUSPECT: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
_BIDI: Final = re.compile("[\u061c\u202a-\u202e\u2066-\u2069]+")
_ZERO_WIDTH: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u3164\ufeff\uffa0"
    "\ufff9-\ufffb]+|(?<=[!-~])[\u200c\u200d]+(?=[!-~])"
)
_DIRECTION_MARK: Final = re.compile("[\u200e\u200f]+")
_SELECTOR: Final = re.compile(
    f"[{_SELECTORS}]{{2,}}|(?<=[ -~])[\ufe00-\ufe0d]|[\U000e0100-\U000e01ef]"
)
_PRIVATE: Final = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]+")
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9a\x9c-\x9f\u2028\u2029]+"
)
_ESCAPE: Final = re.compile("[\x1b\x9b][^\n]{0,20}")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BLANKS: Final = re.compile(rf"[^\S\n]{{{MIN_BLANK_CHARS},}}|(?:[^\S\n]*\n){{{MIN_BLANK_LINES},}}")
_BLOB: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{MIN_BASE64_CHARS},}}={{0,2}}")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A piece of a text that deserves a look.

    Attributes:
        kind: What it is, such as `invisible`.
        severity: `severe` if a person should see it before a model does.
        excerpt: The piece, as it stands there or as what it hides.
    """

    kind: str
    severity: Severity
    excerpt: str


def marks(text: str) -> Iterator[Mark]:
    r"""Find what people do not see in a text.

    Example:
        >>> [mark.kind for mark in marks("Adds.\u202e")]
        ['bidi']
        >>> list(marks("Zeigt die Größe 👨‍👩‍👧 an. می‌خواهم"))
        []
    """
    if not text.isascii() or not text.isprintable():
        yield from _characters(text)
    if "<!--" in text:
        for found in _COMMENT.finditer(text):
            yield Mark(kind="html_comment", severity="notice", excerpt=found[0])
    if len(text) >= min(MIN_BLANK_CHARS, MIN_BLANK_LINES):
        yield from _blanks(text)
    if len(text) >= MIN_BASE64_CHARS:
        yield from _blobs(text)


def _characters(text: str) -> Iterator[Mark]:
    if not _SUSPECT.search(text):
        return
    for kind, severity, pattern in _KINDS:
        for found in pattern.finditer(text):
            if kind == "tag_characters" and text[: found.start()].endswith(_FLAG):
                continue  # the flag of a region, such as Scotland
            yield Mark(kind=kind, severity=severity, excerpt=_around(text, found))


_KINDS: Final[tuple[tuple[str, Severity, re.Pattern[str]], ...]] = (
    ("tag_characters", "severe", _TAGS),
    ("bidi", "severe", _BIDI),
    ("invisible", "severe", _ZERO_WIDTH),
    ("direction_mark", "notice", _DIRECTION_MARK),
    ("variation_selectors", "severe", _SELECTOR),
    ("private_use", "notice", _PRIVATE),
    ("terminal_escape", "severe", _ESCAPE),
    ("control", "notice", _CONTROL),
)


def _around(text: str, found: re.Match[str]) -> str:
    """Return the piece with its surroundings; tag characters as the letters they stand for."""
    if spelt := decode_tags(found[0]):
        return spelt
    return text[max(0, found.start() - 20) : found.end() + 20]


def decode_tags(text: str) -> str:
    """Return the ASCII that tag characters spell, without the others."""
    codes = (ord(char) - 0xE0000 for char in text if 0xE0020 <= ord(char) < 0xE007F)
    return "".join(map(chr, codes))


def _blanks(text: str) -> Iterator[Mark]:
    """Find text that stands behind so much nothing that nobody scrolls there."""
    for found in _BLANKS.finditer(text):
        rest = text[found.end() :].strip()
        if rest and text[: found.start()].strip():
            yield Mark(kind="pushed_out_of_sight", severity="severe", excerpt=rest)


def _blobs(text: str) -> Iterator[Mark]:
    for found in _BLOB.finditer(text):
        meaning = _decoded(found[0])
        if meaning:
            yield Mark(kind="encoded_text", severity="severe", excerpt=meaning)
        elif found[0].endswith("=") or re.search(r"\d", found[0]):
            yield Mark(kind="blob", severity="notice", excerpt=found[0])


def _decoded(blob: str) -> str:
    """Return the text that a blob encodes, empty if it is none."""
    plain = blob.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        text = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    readable = sum(char.isalnum() or char in " .,:;!?'\"/-_\n" for char in text)
    return text if " " in text and readable >= MIN_READABLE * len(text) else ""


def fold(text: str) -> str:
    r"""Return what a model reads: compatible forms unified, lower case, nothing invisible.

    Example:
        >>> fold("\uff29g\u200bnore  ALL\nprevious")
        'ignore all previous'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _SUSPECT.sub(lambda found: decode_tags(found[0]), text)
    return " ".join(text.casefold().replace("\u2019", "'").split())


def visible(text: str) -> str:
    r"""Write out what a reader would not see: controls, joiners, changes of direction.

    Example:
        >>> visible("a\u202eb")
        'a\\u202eb'
    """
    if text.isascii() and text.isprintable():
        return text
    hidden = {ord(char): _spelt(char) for char in set(text) if _is_hidden(char)}
    return text.translate(hidden) if hidden else text


def _spelt(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _is_hidden(char: str) -> bool:
    if char in LAYOUT:
        return False
    return unicodedata.category(char) in HIDDEN or bool(_SUSPECT.match(char))
