"""Finds content that people do not see in a text, and makes it visible."""

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
"""Unicode categories that are invisible or displayed as something else."""
LAYOUT: Final = "\n\t"

_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_FLAG = "\U0001f3f4"
MIN_BLANK_CHARS = 80
"""Consecutive spaces that push the following text out of sight; below, blank lines."""
MIN_BLANK_LINES = 12
MIN_BASE64_CHARS = 80
_PIECE_CHARS = 65_536
"""Characters translated in one call, which holds the GIL."""
MIN_READABLE = 0.9
"""Minimum share of letters and punctuation for a decoded blob to count as text."""

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
class HiddenMark:
    """A suspicious piece of a text.

    Attributes:
        kind: Kind of the finding, such as `invisible`.
        severity: `severe` if a person should review it before a model sees it.
        excerpt: The piece with its surroundings, or its decoded content.
    """

    kind: str
    severity: Severity
    excerpt: str


def find_hidden_marks(text: str) -> Iterator[HiddenMark]:
    r"""Find hidden content in a text: the first of each kind of character, and all comments.

    Complexity: linear in the length of the text.

    Example:
        >>> [mark.kind for mark in find_hidden_marks("Adds.\u202e")]
        ['bidi']
        >>> list(find_hidden_marks("Zeigt die Größe 👨‍👩‍👧 an. می‌خواهم"))
        []
    """
    if not text.isascii() or not text.isprintable():
        yield from _find_characters(text)
    if "<!--" in text:
        for found in _COMMENT.finditer(text):
            yield HiddenMark(kind="html_comment", severity="notice", excerpt=found[0])
    if len(text) >= min(MIN_BLANK_CHARS, MIN_BLANK_LINES):
        yield from _find_blank_runs(text)
    if len(text) >= MIN_BASE64_CHARS:
        yield from _find_blobs(text)


def _find_characters(text: str) -> Iterator[HiddenMark]:
    if not _SUSPECT.search(text):
        return
    for kind, severity, pattern in _KINDS:
        for found in pattern.finditer(text):
            if kind == "tag_characters" and text.endswith(_FLAG, 0, found.start()):
                continue  # the flag of a region, such as Scotland
            yield HiddenMark(kind=kind, severity=severity, excerpt=_excerpt_around(text, found))
            break


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


def _excerpt_around(text: str, found: re.Match[str]) -> str:
    """Return the match with its surroundings; tag characters are decoded instead."""
    if decoded := decode_tags(found[0]):
        return decoded
    return text[max(0, found.start() - 20) : found.end() + 20]


def decode_tags(text: str) -> str:
    """Return the ASCII text that the tag characters encode."""
    codes = (ord(char) - 0xE0000 for char in text if 0xE0020 <= ord(char) < 0xE007F)
    return "".join(map(chr, codes))


def _find_blank_runs(text: str) -> Iterator[HiddenMark]:
    """Find text that is pushed out of sight by a long run of blanks."""
    for found in _BLANKS.finditer(text):
        rest = text[found.end() :].strip()
        if rest and text[: found.start()].strip():
            yield HiddenMark(kind="pushed_out_of_sight", severity="severe", excerpt=rest)
            return


def _find_blobs(text: str) -> Iterator[HiddenMark]:
    for found in _BLOB.finditer(text):
        meaning = _decode_blob(found[0])
        if meaning:
            yield HiddenMark(kind="encoded_text", severity="severe", excerpt=meaning)
        elif found[0].endswith("=") or re.search(r"\d", found[0]):
            yield HiddenMark(kind="blob", severity="notice", excerpt=found[0])


def _decode_blob(blob: str) -> str:
    """Return the text encoded in a base64 blob, empty if it is not text."""
    plain = blob.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        text = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    readable = sum(char.isalnum() or char in " .,:;!?'\"/-_\n" for char in text)
    return text if " " in text and readable >= MIN_READABLE * len(text) else ""


def fold_text(text: str) -> str:
    r"""Normalise a text for matching: NFKC, case-folded, without invisible characters.

    Example:
        >>> fold_text("\uff29g\u200bnore  ALL\nprevious")
        'ignore all previous'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _SUSPECT.sub(lambda found: decode_tags(found[0]), text)
    return " ".join(text.casefold().replace("\u2019", "'").split())


def reveal_hidden(text: str) -> str:
    r"""Escape invisible characters: controls, joiners, changes of direction.

    Example:
        >>> reveal_hidden("a\u202eb")
        'a\\u202eb'
    """
    if text.isascii() and text.isprintable():
        return text
    hidden = {ord(char): _spell_character(char) for char in set(text) if _is_hidden(char)}
    if not hidden:
        return text
    pieces = (text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS))
    return "".join(piece.translate(hidden) for piece in pieces)


def _spell_character(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _is_hidden(char: str) -> bool:
    if char in LAYOUT:
        return False
    return unicodedata.category(char) in HIDDEN or bool(_SUSPECT.match(char))
